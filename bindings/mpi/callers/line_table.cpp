#include "bindings/mpi/callers/line_table.hpp"

#include "bindings/mpi/callers/byte_reader.hpp"

#include <vector>

namespace weft::mpi {

namespace {

// Forms, kinds of contents and instructions of DWARF, by the names that it gives them.
enum Form : std::uint64_t {
  DW_FORM_data2 = 0x05,
  DW_FORM_data4 = 0x06,
  DW_FORM_data8 = 0x07,
  DW_FORM_string = 0x08,
  DW_FORM_block = 0x09,
  DW_FORM_data1 = 0x0b,
  DW_FORM_strp = 0x0e,
  DW_FORM_udata = 0x0f,
  DW_FORM_data16 = 0x1e,
  DW_FORM_line_strp = 0x1f,
};
enum Content : std::uint64_t { DW_LNCT_path = 1, DW_LNCT_directory_index = 2 };
enum Instruction : std::uint8_t {
  kExtended = 0,
  DW_LNS_copy,
  DW_LNS_advance_pc,
  DW_LNS_advance_line,
  DW_LNS_set_file,
  DW_LNS_const_add_pc = 8,
  DW_LNS_fixed_advance_pc = 9,
};
enum Extended : std::uint8_t { DW_LNE_end_sequence = 1, DW_LNE_set_address = 2 };

struct Name {
  std::string_view path;
  std::uint64_t directory = 0;
};

/// The table of one compilation.
class Unit {
 public:
  Unit(const ElfFile& file, std::string_view bytes, bool is_64)
      : file_(file), reader_(bytes), is_64_(is_64) {}

  /// The line of an address, if it belongs to this compilation.
  std::optional<SourceLine> find(std::uint64_t address) {
    if (!read_header()) return std::nullopt;
    Row previous{}, row{};
    bool has_previous = false, is_left_out = false;
    while (!reader_.at_end() && reader_.is_good()) {
      const Step step = advance(row);
      if (step == Step::none) continue;
      // Functions that the linker has left out begin at address 0, where there is no code.
      if (!has_previous) is_left_out = row.address == 0;
      if (has_previous && !is_left_out && previous.address <= address && address < row.address)
        return source_of(previous);
      previous = row;
      has_previous = step == Step::row;
      if (step == Step::end) row = Row{};
    }
    return std::nullopt;
  }

 private:
  struct Row {
    std::uint64_t address = 0;
    std::uint64_t file = 1;
    std::int64_t line = 1;
  };
  enum class Step { none, row, end };

  std::uint64_t offset() noexcept { return reader_.number_of(is_64_ ? 8 : 4); }

  bool read_header() {
    version_ = reader_.number<std::uint16_t>();
    if (version_ < 2 || version_ > 5) return false;
    if (version_ >= 5) reader_.skip(2);  // the sizes of addresses and of segments
    const std::uint64_t length = offset();
    const std::uint64_t program = reader_.position() + length;
    instruction_length_ = reader_.number<std::uint8_t>();
    if (version_ >= 4) reader_.skip(1);  // operations of one instruction
    reader_.skip(1);                     // whether rows are statements by default
    line_base_ = reader_.number<std::int8_t>();
    line_range_ = reader_.number<std::uint8_t>();
    first_special_ = reader_.number<std::uint8_t>();
    if (line_range_ == 0 || first_special_ == 0) return false;
    for (unsigned opcode = 1; opcode < first_special_; ++opcode)
      lengths_[opcode] = reader_.number<std::uint8_t>();
    const bool is_understood =
        version_ >= 5 ? read_names(directories_) && read_names(files_) : read_old_names();
    if (!is_understood || !reader_.is_good() || program < reader_.position()) return false;
    reader_.skip(program - reader_.position());
    return reader_.is_good();
  }

  bool read_old_names() {
    directories_.push_back({});  // 0: that of the compilation
    for (std::string_view path = reader_.text(); !path.empty(); path = reader_.text())
      directories_.push_back({path});
    files_.push_back({});  // they count from 1
    for (std::string_view path = reader_.text(); !path.empty(); path = reader_.text()) {
      files_.push_back({path, reader_.variable()});
      static_cast<void>(reader_.variable());  // its time
      static_cast<void>(reader_.variable());  // its size
    }
    return true;
  }

  bool read_names(std::vector<Name>& names) {
    struct Field {
      std::uint64_t content, form;
    };
    std::vector<Field> fields(reader_.number<std::uint8_t>());
    for (Field& field : fields) field = {reader_.variable(), reader_.variable()};
    // Names of no fields take no bytes: their number says nothing, and could be any.
    if (fields.empty()) return reader_.variable() == 0;
    for (std::uint64_t left = reader_.variable(); left > 0 && reader_.is_good(); --left) {
      Name name;
      for (const Field& field : fields) {
        std::string_view text;
        std::uint64_t number = 0;
        if (!read_form(field.form, text, number)) return false;
        if (field.content == DW_LNCT_path) name.path = text;
        if (field.content == DW_LNCT_directory_index) name.directory = number;
      }
      names.push_back(name);
    }
    return true;
  }

  bool read_form(std::uint64_t form, std::string_view& text, std::uint64_t& number) {
    switch (form) {
      case DW_FORM_string:
        text = reader_.text();
        return true;
      case DW_FORM_strp:
        text = text_of(".debug_str", offset());
        return true;
      case DW_FORM_line_strp:
        text = text_of(".debug_line_str", offset());
        return true;
      case DW_FORM_data1:
        number = reader_.number_of(1);
        return true;
      case DW_FORM_data2:
        number = reader_.number_of(2);
        return true;
      case DW_FORM_data4:
        number = reader_.number_of(4);
        return true;
      case DW_FORM_data8:
        number = reader_.number_of(8);
        return true;
      case DW_FORM_data16:
        reader_.skip(16);
        return true;
      case DW_FORM_udata:
        number = reader_.variable();
        return true;
      case DW_FORM_block:
        reader_.skip(reader_.variable());
        return true;
      default:
        return false;
    }
  }

  [[nodiscard]] std::string_view text_of(const char* section, std::uint64_t at) const noexcept {
    ByteReader reader(file_.section(section));
    reader.skip(at);
    return reader.text();
  }

  /// Carries out one instruction.
  Step advance(Row& row) {
    const auto opcode = reader_.number<std::uint8_t>();
    if (opcode >= first_special_) {
      const unsigned adjusted = opcode - first_special_;
      row.address += std::uint64_t{adjusted / line_range_} * instruction_length_;
      row.line += line_base_ + static_cast<int>(adjusted % line_range_);
      return Step::row;
    }
    switch (opcode) {
      case kExtended:
        return advance_extended(row);
      case DW_LNS_copy:
        return Step::row;
      case DW_LNS_advance_pc:
        row.address += reader_.variable() * instruction_length_;
        return Step::none;
      case DW_LNS_advance_line:
        row.line += reader_.signed_variable();
        return Step::none;
      case DW_LNS_set_file:
        row.file = reader_.variable();
        return Step::none;
      case DW_LNS_const_add_pc:
        row.address += std::uint64_t{(255U - first_special_) / line_range_} * instruction_length_;
        return Step::none;
      case DW_LNS_fixed_advance_pc:
        row.address += reader_.number<std::uint16_t>();
        return Step::none;
      default:
        for (unsigned operand = 0; operand < lengths_[opcode]; ++operand)
          static_cast<void>(reader_.variable());
        return Step::none;
    }
  }

  Step advance_extended(Row& row) {
    const std::uint64_t length = reader_.variable();
    if (length == 0) return Step::none;
    const auto opcode = reader_.number<std::uint8_t>();
    if (opcode == DW_LNE_set_address) {
      row.address = reader_.number_of(static_cast<unsigned>(length - 1));
      return Step::none;
    }
    reader_.skip(length - 1);
    return opcode == DW_LNE_end_sequence ? Step::end : Step::none;
  }

  [[nodiscard]] std::optional<SourceLine> source_of(const Row& row) const {
    if (row.file >= files_.size() || row.line <= 0) return std::nullopt;
    const Name& name = files_[static_cast<std::size_t>(row.file)];
    std::string path(name.path);
    // Directory 0 is where the compiler ran, and is left out.
    if (!path.starts_with('/') && name.directory != 0 && name.directory < directories_.size())
      path.insert(0, std::string(directories_[static_cast<std::size_t>(name.directory)].path) + "/");
    return SourceLine{std::move(path), static_cast<std::uint32_t>(row.line)};
  }

  const ElfFile& file_;
  ByteReader reader_;
  const bool is_64_;
  std::uint16_t version_ = 0;
  std::uint8_t instruction_length_ = 1, line_range_ = 1, first_special_ = 1;
  std::int8_t line_base_ = 0;
  std::uint8_t lengths_[256] = {};
  std::vector<Name> directories_, files_;
};

}  // namespace

std::optional<SourceLine> find_line(const ElfFile& file, std::uint64_t address) {
  ByteReader reader(file.section(".debug_line"));
  while (!reader.at_end() && reader.is_good()) {
    std::uint64_t length = reader.number<std::uint32_t>();
    const bool is_64 = length == 0xffffffff;
    if (is_64) length = reader.number<std::uint64_t>();
    const std::string_view bytes = reader.take(length);
    if (bytes.empty()) continue;
    if (std::optional<SourceLine> found = Unit(file, bytes, is_64).find(address)) return found;
  }
  return std::nullopt;
}

}  // namespace weft::mpi
