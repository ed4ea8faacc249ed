#include "parcel/option_text.hpp"

#include <weft/error.hpp>

#include <charconv>
#include <cstdint>

namespace weft::parcel {

namespace {

std::uint64_t number(std::string_view name, std::string_view value, std::uint64_t least, std::uint64_t most) {
  std::uint64_t result = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), result);
  std::string_view unit(end, static_cast<std::size_t>(value.data() + value.size() - end));
  int shift = 0;
  if (unit == "K") shift = 10;
  if (unit == "M") shift = 20;
  if (shift != 0) unit = {};
  const bool is_number = error == std::errc() && unit.empty() && result <= UINT64_MAX >> shift;
  if (!is_number || result << shift < least || result << shift > most)
    throw Error("parcel option " + std::string(name) + " is '" + std::string(value) + "'; it must be " +
                std::to_string(least) + " to " + std::to_string(most));
  return result << shift;
}

Aggregation aggregation_of(std::string_view value) {
  if (value == "adaptive") return Aggregation::adaptive;
  if (value == "immediate") return Aggregation::immediate;
  if (value == "queued") return Aggregation::queued;
  throw Error("parcel option aggregation is '" + std::string(value) +
              "'; it must be adaptive, immediate or queued");
}

PortKind port_of(std::string_view value) {
  if (value == "weft") return PortKind::weft;
  if (value == "tcp") return PortKind::tcp;
  throw Error("parcel option port is '" + std::string(value) + "'; it must be weft or tcp");
}

std::string_view name_of(Aggregation aggregation) noexcept {
  if (aggregation == Aggregation::immediate) return "immediate";
  return aggregation == Aggregation::queued ? "queued" : "adaptive";
}

void set(RuntimeOptions& options, std::string_view name, std::string_view value) {
  if (name == "aggregation")
    options.aggregation = aggregation_of(value);
  else if (name == "port")
    options.port = port_of(value);
  else if (name == "workers")
    options.workers = static_cast<unsigned>(number(name, value, 0, 256));
  else if (name == "zero_copy")
    options.zero_copy = number(name, value, 1, std::uint64_t{1} << 40);
  else if (name == "message_limit")
    options.message_limit = number(name, value, 64, 1 << 30);
  else if (name == "connections")
    options.connections = static_cast<unsigned>(number(name, value, 1, 1 << 20));
  else if (name == "devices")
    options.devices = static_cast<unsigned>(number(name, value, 1, 64));
  else
    throw Error("there is no parcel option '" + std::string(name) +
                "'; there are port, aggregation, workers, zero_copy, message_limit, connections, devices");
}

}  // namespace

RuntimeOptions parsed(RuntimeOptions options) {
  std::string_view rest = options.text;
  while (!rest.empty()) {
    const std::string_view item = rest.substr(0, rest.find(','));
    rest.remove_prefix(item.size() < rest.size() ? item.size() + 1 : rest.size());
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos)
      throw Error("parcel option '" + std::string(item) + "' has no value; write name=value");
    set(options, item.substr(0, equals), item.substr(equals + 1));
  }
  // The same ranges for options that the program has set as fields.
  number("workers", std::to_string(options.workers), 0, 256);
  number("zero_copy", std::to_string(options.zero_copy), 1, std::uint64_t{1} << 40);
  number("message_limit", std::to_string(options.message_limit), 64, 1 << 30);
  number("connections", std::to_string(options.connections), 1, 1 << 20);
  number("devices", std::to_string(options.devices), 1, 64);
  options.text = {};
  return options;
}

std::string text_of(const RuntimeOptions& options) {
  return (options.port == PortKind::tcp ? "port=tcp,aggregation=" : "port=weft,aggregation=") +
         std::string(name_of(options.aggregation)) + ",workers=" + std::to_string(options.workers) +
         ",zero_copy=" + std::to_string(options.zero_copy) +
         ",message_limit=" + std::to_string(options.message_limit) +
         ",connections=" + std::to_string(options.connections) +
         ",devices=" + std::to_string(options.devices);
}

}  // namespace weft::parcel
