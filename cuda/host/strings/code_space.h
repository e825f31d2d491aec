// A code space in the machine's memory.
#pragma once

#include <atomic>
#include <list>
#include <mutex>
#include <string>
#include <vector>

#include "gpu_engine/strings.h"
#include "host/strings/run_strings.h"
#include "host/strings/union.h"

namespace gpu_engine::host {

class HostEngine;
class HostStringResult;

class HostCodeSpace final : public CodeSpace {
  public:
    // Throws Failure for a member without strings, when there is no memory, and where one is damaged.
    HostCodeSpace(HostEngine &engine, const Stream &stream, std::vector<SpaceMember> members);

    // With the results that are kept.
    std::uint64_t bytes() const noexcept override;
    std::uint64_t entries() const noexcept override { return united_.entries; }
    std::uint64_t serial() const noexcept override { return serial_; }
    const std::uint32_t *numbers(std::size_t member) const noexcept override {
        return is_single() ? nullptr : united_.numbers[member].data();
    }
    Status find(Stream &stream, std::string_view string, std::uint64_t *below,
                bool *is_entry) const noexcept override;
    Status extend(Stream &stream, const StringList &strings, SpaceExtension *extension,
                  std::uint64_t *numbers) const noexcept override;
    Status read(Stream &stream, const std::uint64_t *numbers, std::uint64_t count, char *bytes,
                std::uint64_t capacity, std::uint64_t *ends, std::uint64_t *done,
                std::uint64_t *needed) const noexcept override;
    Status evaluate(Stream &stream, const StringFunction &function,
                    std::shared_ptr<const StringResult> *result) const noexcept override;

  private:
    // A place is an entry's, or where it would be.
    struct Place {
        std::uint64_t below;
        bool is_entry;
    };
    struct Cached {
        StringFunctionKind kind;
        bool is_utf8;
        std::string pattern;
        std::shared_ptr<const HostStringResult> result;
    };
    static constexpr std::size_t max_cached = 16;

    bool is_single() const noexcept { return members_.size() == 1; }
    Place place_of(std::string_view string) const;
    // An entry is read of this member, where it has this code.
    struct Source {
        std::size_t member;
        std::uint64_t code;
    };
    Source source_of(std::uint64_t number) const;
    class Decoded;

    std::shared_ptr<const HostStringResult> find_cached(const StringFunction &function) const;
    void cache(const StringFunction &function, std::shared_ptr<const HostStringResult> result) const;
    std::shared_ptr<const HostStringResult> compute(Stream &stream, const StringFunction &function) const;
    // Calls visit(number, string) for each entry, on all threads.
    template <typename Visit>
    void visit_entries(const Stream &stream, Visit visit) const;

    static std::uint64_t next_serial() noexcept {
        static std::atomic<std::uint64_t> last{0};
        return ++last;
    }

    HostEngine &engine_;
    const std::uint64_t serial_ = next_serial();
    const std::vector<SpaceMember> members_;
    std::vector<StringArea> areas_;
    StringUnion united_;
    mutable std::mutex mutex_;  // of the following
    mutable std::list<Cached> cached_;
};

}  // namespace gpu_engine::host
