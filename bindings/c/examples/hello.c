/* Every rank greets rank 0, which says who they are. */
#include <weft.h>

#include <stdio.h>
#include <string.h>

static int fail(const char* what, weft_result result) {
  fprintf(stderr, "%s: %s %s\n", what, weft_result_name(result),
          weft_is_error(result) ? weft_error_text() : "");
  return 1;
}

int main(void) {
  weft_runtime* runtime = NULL;
  weft_endpoint* endpoint = NULL;
  weft_completion* inbox = NULL;
  weft_remote remote = 0;
  weft_expose_options exposed = {0};
  weft_result result = weft_runtime_create(NULL, &runtime);
  if (result == WEFT_OK) result = weft_endpoint_create(runtime, NULL, &endpoint);
  if (result == WEFT_OK) result = weft_queue_create(NULL, &inbox);
  exposed.size = sizeof exposed;
  exposed.id = 1;
  if (result == WEFT_OK) result = weft_expose(runtime, inbox, &exposed, &remote);
  if (result != WEFT_OK) return fail("start", result);

  {
    char text[64];
    sprintf(text, "hello from rank %d of %d", weft_rank(runtime), weft_size(runtime));
    result = weft_send_am(endpoint, 0, remote, text, strlen(text), NULL);
    if (result != WEFT_OK) return fail("weft_send_am", result);
  }
  if (weft_rank(runtime) == 0) {
    int heard;
    for (heard = 0; heard < weft_size(runtime); ++heard) {
      weft_message message = {0};
      result = weft_wait_queue(endpoint, inbox, 0, &message);
      if (result != WEFT_OK) return fail("weft_wait_queue", result);
      printf("%.*s\n", (int)weft_message_size(&message), (const char*)weft_message_data(&message));
      weft_message_free(&message);
    }
  }
  weft_completion_destroy(inbox);
  weft_endpoint_destroy(endpoint);
  weft_runtime_destroy(runtime);
  return 0;
}
