// Where a rank listens.
#include "sockets/tcp_socket.hpp"

#include <weft/error.hpp>

#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>

#include <string>
#include <vector>

namespace weft::sockets {
namespace {

Address address_of(const char* text) {
  Address address;
  address.family = std::string_view(text).find(':') == std::string_view::npos ? 4 : 6;
  EXPECT_EQ(::inet_pton(address.family == 4 ? AF_INET : AF_INET6, text, address.bytes.data()), 1);
  return address;
}

bool can_connect(const char* address, std::uint16_t port) {
  const base::Descriptor socket = begin_connect(address_of(address), port);
  if (!socket) return false;
  pollfd done{socket.get(), POLLOUT, 0};
  int error = ETIMEDOUT;
  socklen_t size = sizeof error;
  return ::poll(&done, 1, 100'000) == 1 &&
         ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
}

TEST(Listening, is_at_all_addresses_when_none_are_named) {
  const Listener listener = listen_in({});
  EXPECT_EQ(listener.sockets.size(), 1U);
  EXPECT_TRUE(can_connect("127.0.0.1", listener.port));
  EXPECT_TRUE(can_connect("127.0.0.2", listener.port));
}

TEST(Listening, is_at_the_addresses_that_are_named_and_at_no_others) {
  std::vector<Address> at = {address_of("127.0.0.2"), address_of("127.0.0.3")};
  const Listener listener = listen_in({}, at);
  EXPECT_EQ(listener.sockets.size(), 2U);
  EXPECT_FALSE(can_connect("127.0.0.1", listener.port));
  EXPECT_TRUE(can_connect("127.0.0.2", listener.port));
  EXPECT_TRUE(can_connect("127.0.0.3", listener.port));
}

TEST(Listening, is_by_both_families_on_one_port) {
  const std::vector<Address> six = {address_of("::1")};
  try {
    static_cast<void>(listen_in({}, six));
  } catch (const Error&) {
    GTEST_SKIP() << "this host has no ::1";
  }
  std::vector<Address> at = {address_of("127.0.0.1"), address_of("::1")};
  const Listener listener = listen_in({}, at);
  EXPECT_TRUE(can_connect("127.0.0.1", listener.port));
  EXPECT_TRUE(can_connect("::1", listener.port));
  EXPECT_FALSE(can_connect("127.0.0.2", listener.port));
}

TEST(Listening, takes_a_port_that_is_free_at_all_addresses) {
  const std::vector<Address> first = {address_of("127.0.0.3")};
  const Listener taken = listen_in({}, first);
  std::vector<Address> both = {address_of("127.0.0.2"), address_of("127.0.0.3")};
  const std::uint16_t next = taken.port == 65535 ? 65535 : static_cast<std::uint16_t>(taken.port + 1);
  try {
    const Listener listener = listen_in({taken.port, next}, both);
    EXPECT_EQ(listener.port, next);
  } catch (const Error& error) {  // another program has the next one
    EXPECT_NE(std::string(error.what()).find("is free"), std::string::npos) << error.what();
  }
}

TEST(Listening, names_an_address_that_is_not_of_this_host) {
  const std::vector<Address> at = {address_of("192.0.2.1")};
  try {
    static_cast<void>(listen_in({}, at));
    FAIL() << "192.0.2.1 is an address of documents only";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("192.0.2.1"), std::string::npos) << error.what();
  }
}

TEST(Listening, is_not_inherited_by_programs_that_are_executed) {
  const std::vector<Address> at = {address_of("127.0.0.1")};
  for (const Listener& listener : {listen_in({}), listen_in({}, at)})
    for (const base::Descriptor& each : listener.sockets)
      EXPECT_NE(::fcntl(each.get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST(AddressesToListenAt, are_those_that_were_chosen) {
  const std::vector<Interface> chosen = {{"eth0", address_of("10.0.0.1")}, {"eth0", address_of("fd00::1")}};
  EXPECT_TRUE(addresses_to_listen_at(chosen, "auto").empty());
  EXPECT_EQ(addresses_to_listen_at(chosen, "eth0"),
            (std::vector<Address>{chosen[0].address, chosen[1].address}));
}

}  // namespace
}  // namespace weft::sockets
