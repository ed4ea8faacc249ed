// What reads text from the environment of a rank.
#include "unit/fuzz/decoders.hpp"

#include "base/attributes.hpp"
#include "base/host/host_id.hpp"
#include "base/log.hpp"
#include "base/text/parse.hpp"
#include "sockets/tcp_socket.hpp"

#include <string>
#include <vector>

namespace weft::fuzz {

namespace {

/// Numbers, sizes, times, names of hosts, ports and levels of the log.
Decoder values() {
  return {"values",
          [](Bytes bytes) {
            const std::string text = text_of(bytes);
            static_cast<void>(base::parse_integer(text));
            static_cast<void>(base::parse_size(text));
            static_cast<void>(base::parse_seconds(text));
            static_cast<void>(base::parse_whole_duration(text, 1e-6));
            static_cast<void>(base::parse_boolean(text));
            try_to([&] { static_cast<void>(sockets::parse_ports(text)); });
            try_to([&] { static_cast<void>(base::host_id_of_rank(text, 3)); });
            try_to([&] { static_cast<void>(base::LogLevels::parse(text)); });
          },
          {seed_of_text("123"), seed_of_text("64K"), seed_of_text("1.5ms"), seed_of_text("yes"),
           seed_of_text("4000-4010"), seed_of_text("n%r/2"), seed_of_text("warn,shm=debug")}};
}

/// The environment: a variable in each line.
Decoder environment() {
  return {"environment",
          [](Bytes bytes) {
            std::vector<std::string> lines(1);
            for (const std::byte each : bytes) {
              if (each == std::byte{'\n'} || each == std::byte{0})
                lines.emplace_back();
              else
                lines.back().push_back(static_cast<char>(each));
            }
            std::vector<const char*> variables;
            for (const std::string& line : lines) variables.push_back(line.c_str());
            variables.push_back(nullptr);
            try_to([&] { static_cast<void>(base::Attributes::load({}, variables.data())); });
          },
          {seed_of_text("WEFT_NETWORK=tcp\nWEFT_PACKETS=64\nWEFT_PACKET_SIZE=8K\nPATH=/bin\nWEFT_ROOT=/opt"),
           seed_of_text(
               "WEFT_INTERFACE=10.0.0.0/8,lo\nWEFT_PORTS=4000-4010\nWEFT_PEER_TIMEOUT=2.5\nWEFT_LOG=info")}};
}

std::vector<Decoder> decoders() { return {values(), environment()}; }

const Registration kRegistration(&decoders);

}  // namespace

}  // namespace weft::fuzz
