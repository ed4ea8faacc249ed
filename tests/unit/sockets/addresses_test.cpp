// Addresses: which are published, in which order a peer tries them, and what comes from a peer is checked.
#include "sockets/addresses.hpp"
#include "sockets/tcp_socket.hpp"
#include "support/errors.hpp"
#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <arpa/inet.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace weft::sockets {
namespace {

Address make(const char* text, unsigned prefix, bool is_loopback = false) {
  Address address;
  const bool is_v6 = std::strchr(text, ':') != nullptr;
  address.family = is_v6 ? 6 : 4;
  address.prefix = static_cast<std::uint8_t>(prefix);
  address.is_loopback = is_loopback ? 1 : 0;
  EXPECT_EQ(::inet_pton(is_v6 ? AF_INET6 : AF_INET, text, address.bytes.data()), 1) << text;
  return address;
}

const std::vector<Interface> kInterfaces = {{"eth0", make("10.1.0.5", 16)},
                                            {"eth0", make("fd00::5", 64)},
                                            {"ib0", make("192.168.7.5", 24)},
                                            {"lo", make("127.0.0.1", 8, true)}};

std::string texts(const std::vector<Address>& addresses) {
  std::string all;
  for (const Address& each : addresses) all += to_text(each) + " ";
  return all;
}

TEST(SocketAddresses, are_chosen_by_names_and_subnets) {
  EXPECT_EQ(to_text(select_interfaces(kInterfaces, "ib0")), "ib0 192.168.7.5/24");
  EXPECT_EQ(to_text(select_interfaces(kInterfaces, "10.0.0.0/8")), "eth0 10.1.0.5/16");
  EXPECT_EQ(to_text(select_interfaces(kInterfaces, "fd00::/8,lo")), "eth0 fd00::5/64, lo 127.0.0.1/8");
  EXPECT_EQ(select_interfaces(kInterfaces, "auto").size(), kInterfaces.size());
}

TEST(SocketAddresses, that_do_not_exist_are_an_error_which_lists_what_there_is) {
  for (const char* filter : {"ib7", "172.16.0.0/12", "10.0.0.0/33", "", ",", "eth0,ib7", "10.1.0.5/x"}) {
    const std::string error =
        test::error_of([&] { static_cast<void>(select_interfaces(kInterfaces, filter)); });
    EXPECT_NE(error.find("WEFT_INTERFACE"), std::string::npos) << filter << ": " << error;
    EXPECT_NE(error.find("ib0 192.168.7.5/24"), std::string::npos) << filter << ": " << error;
  }
}

TEST(SocketAddresses, come_back_from_their_encoding) {
  Endpoints endpoints{4711, 99, {}};
  for (const Interface& each : kInterfaces) endpoints.addresses.push_back(each.address);
  const auto decoded = decode(encode(endpoints));
  ASSERT_TRUE(decoded.has_value());
  EXPECT_EQ(decoded->port, 4711);
  EXPECT_EQ(decoded->network_namespace, 99U);
  EXPECT_EQ(decoded->addresses, endpoints.addresses);
}

TEST(SocketAddresses, of_a_wrong_form_are_refused) {
  const auto whole = encode({4711, 99, {make("10.1.0.5", 16), make("fd00::5", 64)}});
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(decode(std::span(whole).first(size)).has_value()) << size;
  // Whatever the bytes are: nothing, or addresses of the two families.
  std::mt19937 random(1);
  for (int round = 0; round < 20'000; ++round) {
    auto bytes = whole;
    for (int changes = 0; changes < 3; ++changes)
      bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    if (const auto decoded = decode(bytes); decoded.has_value()) {
      for (const Address& each : decoded->addresses) EXPECT_TRUE(each.family == 4 || each.family == 6);
    }
  }
}

TEST(SocketAddresses, of_the_same_subnet_are_tried_first_and_loopback_only_within_its_namespace) {
  const Endpoints peer{4711,
                       99,
                       {make("172.17.0.1", 16), make("127.0.0.1", 8, true), make("192.168.7.9", 24),
                        make("fd00::9", 64), make("fd77::9", 64)}};
  EXPECT_EQ(texts(order_of_trial(peer, kInterfaces, 99)),
            "127.0.0.1 192.168.7.9 fd00::9 172.17.0.1 fd77::9 ");
  EXPECT_EQ(texts(order_of_trial(peer, kInterfaces, 98)), "192.168.7.9 fd00::9 172.17.0.1 fd77::9 ");
  const std::vector<Interface> only_v4 = {{"eth0", make("10.1.0.5", 16)}};
  EXPECT_EQ(texts(order_of_trial(peer, only_v4, 98)).find(':'), std::string::npos) << "without IPv6";
}

TEST(ListeningPorts, are_a_range_or_any) {
  EXPECT_EQ(parse_ports("auto").first, 0);
  EXPECT_EQ(parse_ports("4000-4010").first, 4000);
  EXPECT_EQ(parse_ports("4000-4010").last, 4010);
  for (const char* text : {"", "4000-", "-1", "0-10", "4010-4000", "1-70000", "4000-4010-", "a-b"})
    EXPECT_NE(test::error_of([&] { static_cast<void>(parse_ports(text)); }).find("ports"), std::string::npos)
        << text;
}

TEST(ListeningPorts, that_are_all_taken_are_named) {
  const Listener first = listen_in({});
  const std::string error = test::error_of([&] { static_cast<void>(listen_in({first.port, first.port})); });
  EXPECT_NE(error.find(std::to_string(first.port)), std::string::npos) << error;
}

}  // namespace
}  // namespace weft::sockets
