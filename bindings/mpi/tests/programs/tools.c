/* ranks: 1 2
   The tool interface: in use before, beside and behind MPI; nothing to show; failures reach no error handler.
 */
#include "check.h"

static void nothing_to_show(void) {
  int number = 1, changed = 1, count = 1, name_length = 0;
  CHECK(MPI_T_cvar_get_num(&number) == MPI_SUCCESS && number == 0);
  CHECK(MPI_T_pvar_get_num(&number) == MPI_SUCCESS && number == 0);
  CHECK(MPI_T_event_get_num(&number) == MPI_SUCCESS && number == 0);
  CHECK(MPI_T_source_get_num(&number) == MPI_SUCCESS && number == 0);
  CHECK(MPI_T_category_get_num(&number) == MPI_SUCCESS && number == 0);
  CHECK(MPI_T_category_changed(&changed) == MPI_SUCCESS && changed == 0);
  CHECK(MPI_T_cvar_get_num(NULL) == MPI_T_ERR_INVALID);
  CHECK(MPI_T_cvar_get_index("none", &number) == MPI_T_ERR_INVALID_NAME);
  CHECK(MPI_T_pvar_get_index("none", MPI_T_PVAR_CLASS_COUNTER, &number) == MPI_T_ERR_INVALID_NAME);
  CHECK(MPI_T_cvar_get_info(0, NULL, &name_length, NULL, NULL, NULL, NULL, NULL, NULL, NULL) ==
        MPI_T_ERR_INVALID_INDEX);
  MPI_T_cvar_handle control;
  CHECK(MPI_T_cvar_handle_alloc(0, NULL, &control, &count) == MPI_T_ERR_INVALID_INDEX);
}

static void sessions(void) {
  MPI_T_pvar_session session = MPI_T_PVAR_SESSION_NULL;
  CHECK(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES) == MPI_T_ERR_INVALID_SESSION);
  CHECK(MPI_T_pvar_session_create(&session) == MPI_SUCCESS && session != MPI_T_PVAR_SESSION_NULL);
  CHECK(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES) == MPI_SUCCESS);
  CHECK(MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES) == MPI_SUCCESS);
  CHECK(MPI_T_pvar_reset(session, MPI_T_PVAR_HANDLE_NULL) == MPI_T_ERR_INVALID_HANDLE);
  CHECK(MPI_T_pvar_session_free(&session) == MPI_SUCCESS && session == MPI_T_PVAR_SESSION_NULL);
  CHECK(MPI_T_pvar_session_free(&session) == MPI_T_ERR_INVALID_SESSION);
}

int main(int argc, char** argv) {
  int number, provided = -1, length, code_class;
  char text[MPI_MAX_ERROR_STRING];
  CHECK(MPI_T_cvar_get_num(&number) == MPI_T_ERR_NOT_INITIALIZED);
  CHECK(MPI_T_finalize() == MPI_T_ERR_NOT_INITIALIZED);
  CHECK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS && provided == MPI_THREAD_MULTIPLE);
  nothing_to_show();
  begin(&argc, &argv);
  CHECK(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided) == MPI_SUCCESS);
  nothing_to_show();
  sessions();
  MPI_Error_class(MPI_T_ERR_INVALID_INDEX, &code_class);
  MPI_Error_string(MPI_T_ERR_INVALID_INDEX, text, &length);
  CHECK(code_class == MPI_T_ERR_INVALID_INDEX && strstr(text, "MPI_T_ERR_INVALID_INDEX") != NULL);
  CHECK(MPI_T_finalize() == MPI_SUCCESS);
  MPI_Finalize();
  nothing_to_show();
  CHECK(MPI_T_finalize() == MPI_SUCCESS);
  CHECK(MPI_T_cvar_get_num(&number) == MPI_T_ERR_NOT_INITIALIZED);
  return 0;
}
