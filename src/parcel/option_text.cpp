#include "parcel/option_text.hpp"

#include <weft/error.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <utility>

namespace weft::parcel {

namespace {

constexpr std::uint64_t kLeastStack = std::uint64_t{64} << 10;
constexpr std::uint64_t kMostStack = std::uint64_t{1} << 30;

template <class Value>
using Names = std::pair<std::string_view, Value>;

constexpr std::array kPorts{Names<PortKind>{"weft", PortKind::weft}, Names<PortKind>{"tcp", PortKind::tcp},
                            Names<PortKind>{"mpi", PortKind::mpi}};
constexpr std::array kAggregations{Names<Aggregation>{"adaptive", Aggregation::adaptive},
                                   Names<Aggregation>{"immediate", Aggregation::immediate},
                                   Names<Aggregation>{"queued", Aggregation::queued}};
constexpr std::array kProtocols{
    Names<Protocol>{"automatic", Protocol::automatic}, Names<Protocol>{"onepost", Protocol::one_post},
    Names<Protocol>{"putsendrecv", Protocol::put_sendrecv}, Names<Protocol>{"sendrecv", Protocol::sendrecv},
    Names<Protocol>{"original", Protocol::original}};
constexpr std::array kCompletions{Names<CompletionKind>{"queue", CompletionKind::queue},
                                  Names<CompletionKind>{"synchronizer", CompletionKind::synchronizer}};
constexpr std::array kSharings{Names<Sharing>{"shared", Sharing::shared},
                               Names<Sharing>{"own", Sharing::own}};
constexpr std::array kProgress{
    Names<Progress>{"workers", Progress::workers}, Names<Progress>{"thread", Progress::thread},
    Names<Progress>{"pinned", Progress::pinned}, Names<Progress>{"both", Progress::both}};

constexpr std::size_t kLongestName = 50;

std::uint64_t number(std::string_view name, std::string_view value, std::uint64_t least, std::uint64_t most) {
  std::uint64_t result = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), result);
  std::string_view unit(end, static_cast<std::size_t>(value.data() + value.size() - end));
  int shift = 0;
  if (unit == "K") shift = 10;
  if (unit == "M") shift = 20;
  if (unit == "G") shift = 30;
  if (shift != 0) unit = {};
  const bool is_number = error == std::errc() && unit.empty() && result <= UINT64_MAX >> shift;
  if (!is_number || result << shift < least || result << shift > most)
    throw Error("parcel option " + std::string(name) + " is '" + std::string(value) + "'; it must be " +
                std::to_string(least) + " to " + std::to_string(most));
  return result << shift;
}

template <class Value, std::size_t size>
Value choice(std::string_view name, std::string_view value, const std::array<Names<Value>, size>& values) {
  std::string known;
  for (std::size_t index = 0; index < size; ++index) {
    if (values[index].first == value) return values[index].second;
    known += (index == 0 ? "" : index + 1 == size ? " or " : ", ") + std::string(values[index].first);
  }
  throw Error("parcel option " + std::string(name) + " is '" + std::string(value) + "'; it must be " + known);
}

template <class Value, std::size_t size>
std::string name_of(Value value, const std::array<Names<Value>, size>& values) {
  for (const auto& [name, each] : values)
    if (each == value) return std::string(name);
  throw Error("a parcel option has the value " + std::to_string(static_cast<int>(value)) +
              ", which has no name");
}

void set(RuntimeOptions& options, std::string_view name, std::string_view value) {
  if (name == "aggregation")
    options.aggregation = choice(name, value, kAggregations);
  else if (name == "port")
    options.port = choice(name, value, kPorts);
  else if (name == "protocol")
    options.protocol = choice(name, value, kProtocols);
  else if (name == "header_completion")
    options.header_completion = choice(name, value, kCompletions);
  else if (name == "followup_completion")
    options.followup_completion = choice(name, value, kCompletions);
  else if (name == "followup_devices")
    options.followup_devices = choice(name, value, kSharings);
  else if (name == "retries")
    options.retries = choice(name, value, kSharings);
  else if (name == "progress")
    options.progress = choice(name, value, kProgress);
  else if (name == "mpi_library")
    options.mpi_library = value;
  else if (name == "workers")
    options.workers = static_cast<unsigned>(number(name, value, 0, 256));
  else if (name == "zero_copy")
    options.zero_copy = number(name, value, 1, std::uint64_t{1} << 40);
  else if (name == "message_limit")
    options.message_limit = number(name, value, 64, 1 << 30);
  else if (name == "stack")
    options.stack = number(name, value, kLeastStack, kMostStack);
  else if (name == "connections")
    options.connections = static_cast<unsigned>(number(name, value, 1, 1 << 20));
  else if (name == "devices")
    options.devices = static_cast<unsigned>(number(name, value, 1, 64));
  else if (name == "pending_limit")
    options.pending_limit = number(name, value, 1, std::uint64_t{1} << 50);
  else if (name == "pace")
    options.pace = number(name, value, 0, std::uint64_t{1} << 50);
  else if (name == "name")
    options.name = value;
  else
    throw Error("there is no parcel option '" + std::string(name) +
                "'; there are port, protocol, aggregation, header_completion, followup_completion, "
                "followup_devices, retries, progress, workers, devices, zero_copy, message_limit, "
                "pending_limit, pace, connections, stack, "
                "mpi_library, name");
}

/// Words that options and messages are made of, so that a name can be read back.
void check_name(std::string_view name) {
  const bool is_word = std::all_of(name.begin(), name.end(), [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= '0' && letter <= '9') || letter == '_' || letter == '-' || letter == '.';
  });
  if (!is_word || name.size() > kLongestName)
    throw Error("parcel option name is '" + std::string(name) + "'; it must be up to " +
                std::to_string(kLongestName) + " letters, digits, '-', '_' or '.'");
}

/// Refuses what the port does not have.
void check_variant(RuntimeOptions& options) {
  const bool is_weft = options.port == PortKind::weft;
  const std::string port = name_of(options.port, kPorts);
  if (options.protocol == Protocol::automatic)
    options.protocol = options.port == PortKind::mpi ? Protocol::sendrecv : Protocol::one_post;
  const Protocol protocol = options.protocol;
  const bool is_known = is_weft ? protocol != Protocol::original
                        : options.port == PortKind::mpi
                            ? protocol == Protocol::sendrecv || protocol == Protocol::original
                            : protocol == Protocol::one_post;
  if (!is_known)
    throw Error("parcel option protocol is '" + name_of(protocol, kProtocols) + "', which port=" + port +
                " does not have; it has " +
                (is_weft                         ? "onepost, putsendrecv and sendrecv"
                 : options.port == PortKind::mpi ? "sendrecv and original"
                                                 : "onepost"));
  if (!is_weft && (options.progress != Progress::workers || options.devices != 1))
    throw Error("the parcel options progress and devices are for port=weft; this is port=" + port);
  if (options.port != PortKind::mpi && !options.mpi_library.empty())
    throw Error("parcel option mpi_library is for port=mpi; this is port=" + port);
  const bool has_connections = is_weft && protocol != Protocol::one_post;
  if (options.header_completion == CompletionKind::synchronizer &&
      !(is_weft && protocol == Protocol::sendrecv))
    throw Error("parcel option header_completion=synchronizer needs port=weft and protocol=sendrecv");
  if (options.followup_completion == CompletionKind::synchronizer && !has_connections)
    throw Error(
        "parcel option followup_completion=synchronizer needs port=weft and protocol=putsendrecv or "
        "sendrecv");
  if (options.followup_devices == Sharing::own && !has_connections)
    throw Error("parcel option followup_devices=own needs port=weft and protocol=putsendrecv or sendrecv");
  if (options.retries == Sharing::own && !has_connections && options.port != PortKind::mpi)
    throw Error(
        "parcel option retries=own needs port=mpi, or port=weft and protocol=putsendrecv or sendrecv");
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
  number("stack", std::to_string(options.stack), kLeastStack, kMostStack);
  number("connections", std::to_string(options.connections), 1, 1 << 20);
  number("devices", std::to_string(options.devices), 1, 64);
  number("pending_limit", std::to_string(options.pending_limit), 1, std::uint64_t{1} << 50);
  number("pace", std::to_string(options.pace), 0, std::uint64_t{1} << 50);
  check_name(options.name);
  check_variant(options);
  options.text = {};
  return options;
}

std::string text_of(const RuntimeOptions& options) {
  std::string text = "port=" + name_of(options.port, kPorts) +
                     ",protocol=" + name_of(options.protocol, kProtocols) +
                     ",aggregation=" + name_of(options.aggregation, kAggregations);
  if (options.port == PortKind::weft) {
    if (options.protocol != Protocol::one_post)
      text += ",header_completion=" + name_of(options.header_completion, kCompletions) +
              ",followup_completion=" + name_of(options.followup_completion, kCompletions) +
              ",followup_devices=" + name_of(options.followup_devices, kSharings);
    text +=
        ",progress=" + name_of(options.progress, kProgress) + ",devices=" + std::to_string(options.devices);
  }
  if (options.port == PortKind::mpi ||
      (options.port == PortKind::weft && options.protocol != Protocol::one_post))
    text += ",retries=" + name_of(options.retries, kSharings);
  if (!options.mpi_library.empty()) text += ",mpi_library=" + std::string(options.mpi_library);
  return text + ",workers=" + std::to_string(options.workers) +
         ",zero_copy=" + std::to_string(options.zero_copy) +
         ",message_limit=" + std::to_string(options.message_limit) +
         ",pending_limit=" + std::to_string(options.pending_limit) + ",pace=" + std::to_string(options.pace) +
         ",connections=" + std::to_string(options.connections) + ",stack=" + std::to_string(options.stack) +
         (options.name.empty() ? "" : ",name=" + std::string(options.name));
}

std::string text_of_agreed(const RuntimeOptions& options) {
  std::string text = "option port=" + name_of(options.port, kPorts) +
                     "\noption protocol=" + name_of(options.protocol, kProtocols) +
                     "\noption devices=" + std::to_string(options.devices) +
                     "\noption followup_devices=" + name_of(options.followup_devices, kSharings) +
                     "\noption name=" + std::string(options.name) + "\n";
  // Headers, for which MPI's receives are posted, are as long as it says.
  if (options.port == PortKind::mpi) text += "option zero_copy=" + std::to_string(options.zero_copy) + "\n";
  return text;
}

}  // namespace weft::parcel
