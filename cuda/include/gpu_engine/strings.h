// Dictionaries of strings of gpu_column's runs, and code spaces: one numbering of the strings that several
// dictionaries have. They lie in the machine's memory, whichever engine has the runs' codes.
//
// Dictionaries are kept as they are on the pages (gpu_engine/column.h), and nothing of them is decoded but
// what a call needs. Entries are checked as they are read: a dictionary that contradicts itself ends the call
// with invalid_argument.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "gpu_engine/column.h"
#include "gpu_engine/interface.h"
#include "gpu_engine/status.h"

namespace gpu_engine {

class Stream;

// Holds the dictionaries of a run's columns of strings.
class RunStrings : public Interface {
  public:
    virtual std::uint64_t bytes() const noexcept = 0;
    virtual const StoreLayout &layout() const noexcept = 0;
    bool has(std::uint32_t column) const noexcept {
        return column < layout().columns && layout().column[column].string_bytes > 0;
    }
};

// Makes dictionaries. All pages of the run come in order, each once, as for a ColumnLoader.
class StringsLoader : public Interface {
  public:
    virtual Status append_pages(const void *images, std::uint32_t pages) noexcept = 0;
    // All pages must have come; the loader is then empty.
    virtual Status finish(std::shared_ptr<const RunStrings> *strings) noexcept = 0;
};

// ---- code spaces ------------------------------------------------------------------------------------------

// Names a column's dictionary of one run.
struct SpaceMember {
    std::shared_ptr<const RunStrings> run;
    std::uint32_t column;
};

// These strings are a caller's: number i ends in front of byte ends[i], where number i + 1 begins.
struct StringList {
    const char *bytes;
    const std::uint64_t *ends;
    std::uint64_t count;

    std::uint64_t begin(std::uint64_t i) const noexcept { return i == 0 ? 0 : ends[i - 1]; }
    std::string_view at(std::uint64_t i) const noexcept {
        return {bytes + begin(i), static_cast<std::size_t>(ends[i] - begin(i))};
    }
};

// Numbers of a statement, among whose strings are some that no dictionary has: entry `number` of the space
// becomes (number << shift) + base, which leaves room for the others between entries. So all numbers have the
// order of bytes, and lie as close together as they can.
struct SpaceExtension {
    std::uint32_t shift = 0;
    std::uint32_t reserved = 0;
    std::uint64_t base = 0;

    std::uint64_t number_of(std::uint64_t entry) const noexcept { return (entry << shift) + base; }
};

enum class StringFunctionKind : std::uint32_t {
    like = 1,    // a bit an entry, of whether LIKE `pattern` holds, with %, _ and \ as in SQL
    bytes,       // a word an entry: how many bytes it has
    characters,  // or characters
};

// Characters are bytes, or UTF-8's.
struct StringFunction {
    StringFunctionKind kind;
    bool is_utf8;
    std::string_view pattern;
};

// Holds what a function gives for each entry of a space, by its number.
class StringResult : public Interface {
  public:
    virtual std::uint64_t bytes() const noexcept = 0;
    virtual const std::uint64_t *bits() const noexcept = 0;   // nullptr: the function gives words
    virtual const std::uint32_t *words() const noexcept = 0;  // nullptr: it gives bits
};

// The union of its members' dictionaries. Entries have numbers from 0 on, in the order of their bytes. All
// functions may run on several streams at once.
class CodeSpace : public Interface {
  public:
    static constexpr std::size_t max_members = UINT16_MAX;

    virtual std::uint64_t bytes() const noexcept = 0;
    virtual std::uint64_t entries() const noexcept = 0;
    // No other space of the process has this number, nor will have it.
    virtual std::uint64_t serial() const noexcept = 0;
    // Returns the numbers of a member's codes, which ascend; nullptr: its codes are the numbers.
    virtual const std::uint32_t *numbers(std::size_t member) const noexcept = 0;

    // Finds how many entries are below a string, and whether it is one: its number is the same then.
    virtual Status find(Stream &stream, std::string_view string, std::uint64_t *below,
                        bool *is_entry) const noexcept = 0;
    // Gives numbers to a caller's strings, to equal ones the same; `extension` says what entries' become.
    virtual Status extend(Stream &stream, const StringList &strings, SpaceExtension *extension,
                          std::uint64_t *numbers) const noexcept = 0;
    // Copies entries, one behind the other, as many of them as `capacity` bytes have room for: *done.
    // ends[i] is where that of numbers[i] ends. *needed: the bytes of the next one, if it had no room.
    virtual Status read(Stream &stream, const std::uint64_t *numbers, std::uint64_t count, char *bytes,
                        std::uint64_t capacity, std::uint64_t *ends, std::uint64_t *done,
                        std::uint64_t *needed) const noexcept = 0;
    // Computes a function of all entries. Results of late are kept with the space.
    virtual Status evaluate(Stream &stream, const StringFunction &function,
                            std::shared_ptr<const StringResult> *result) const noexcept = 0;
};

// Keeps dictionaries, and makes code spaces.
class Strings : public Interface {
  public:
    // Returns the bytes that a run's dictionaries take; 0 without any, or for a layout that can't be.
    virtual std::uint64_t bytes_of(const StoreLayout &layout) const noexcept = 0;
    // Reserves all of their memory.
    virtual Status open_loader(const StoreLayout &layout,
                               std::unique_ptr<StringsLoader> *loader) noexcept = 0;
    // Makes the union of the members, of which two may be the same dictionary.
    virtual Status make_space(Stream &stream, const SpaceMember *members, std::size_t count,
                              std::shared_ptr<const CodeSpace> *space) noexcept = 0;
};

}  // namespace gpu_engine
