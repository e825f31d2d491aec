#include "host/strings/code_space.h"

#include <algorithm>

#include "gpu_engine/guard.h"
#include "host/engine.h"

namespace gpu_engine::host {
namespace {

constexpr std::uint64_t strings_a_piece = 256;

const HostRunStrings &run_of(const SpaceMember &member) {
    const auto *run = dynamic_cast<const HostRunStrings *>(member.run.get());
    if (run == nullptr || !run->has(member.column)) {
        throw Failure{make_status(StatusCode::invalid_argument, "a run has no such dictionary of strings")};
    }
    return *run;
}

}  // namespace

HostCodeSpace::HostCodeSpace(HostEngine &engine, const Stream &stream, std::vector<SpaceMember> members)
    : engine_(engine), members_(std::move(members)) {
    for (const SpaceMember &member : members_) {
        areas_.push_back(run_of(member).area(member.column));
    }
    if (is_single()) {
        united_.entries = areas_.front().entries;
    } else {
        united_ = unite(engine.memory(), engine.workers(stream), areas_);
    }
}

// ---- strings to numbers -----------------------------------------------------------------------------------

HostCodeSpace::Place HostCodeSpace::place_of(std::string_view string) const {
    Place place = {entries(), false};
    for (std::size_t member = 0; member < areas_.size(); ++member) {
        const FoundEntry found = find_entry(areas_[member], string);
        if (found.code < areas_[member].entries) {
            const std::uint64_t number = is_single() ? found.code : united_.numbers[member][found.code];
            place.below = std::min(place.below, number);
            place.is_entry = place.is_entry || found.is_equal;
        }
    }
    return place;
}

Status HostCodeSpace::find(Stream &stream, std::string_view string, std::uint64_t *below,
                           bool *is_entry) const noexcept {
    return guarded([&] {
        check_cancelled(stream);
        const Place place = place_of(string);
        *below = place.below;
        *is_entry = place.is_entry;
        return Status{};
    });
}

Status HostCodeSpace::extend(Stream &stream, const StringList &strings, SpaceExtension *extension,
                             std::uint64_t *numbers) const noexcept {
    return guarded([&] {
        std::vector<Place> places(strings.count);
        engine_.workers(stream).for_pieces(strings.count, strings_a_piece,
                                           [&](std::uint64_t first, std::uint64_t last) {
                                               for (std::uint64_t i = first; i < last; ++i) {
                                                   places[i] = place_of(strings.at(i));
                                               }
                                           });
        std::vector<std::uint64_t> others;
        for (std::uint64_t i = 0; i < strings.count; ++i) {
            if (!places[i].is_entry) {
                others.push_back(i);
            }
        }
        std::sort(others.begin(), others.end(),
                  [&](std::uint64_t a, std::uint64_t b) { return strings.at(a) < strings.at(b); });
        // Those in front of the same entry are numbered from 1 on, for now.
        std::uint64_t most = 0;
        for (std::size_t i = 0; i < others.size(); ++i) {
            const bool goes_on = i > 0 && places[others[i]].below == places[others[i - 1]].below;
            const bool is_same = goes_on && strings.at(others[i]) == strings.at(others[i - 1]);
            numbers[others[i]] = (goes_on ? numbers[others[i - 1]] : 0) + (is_same ? 0 : 1);
            most = std::max(most, numbers[others[i]]);
        }
        extension->shift = most == 0 ? 0 : static_cast<std::uint32_t>(64 - __builtin_clzll(most));
        // Some are in front of all entries.
        const bool begins_early = !others.empty() && places[others.front()].below == 0;
        extension->base = begins_early ? std::uint64_t(1) << extension->shift : 0;
        for (std::uint64_t i = 0; i < strings.count; ++i) {
            const std::uint64_t entry = extension->number_of(places[i].below);
            if (places[i].is_entry) {
                numbers[i] = entry;
            } else {
                numbers[i] += entry - (std::uint64_t(1) << extension->shift);
            }
        }
        return Status{};
    });
}

// ---- numbers to strings -----------------------------------------------------------------------------------

HostCodeSpace::Source HostCodeSpace::source_of(std::uint64_t number) const {
    if (number >= entries()) {
        throw Failure{make_status(StatusCode::invalid_argument, "the space has no such number")};
    }
    if (is_single()) {
        return {0, number};
    }
    const std::size_t member = united_.member[number];
    const std::uint32_t *begin = united_.numbers[member].data();
    const std::uint32_t *end = begin + united_.numbers[member].size();
    return {member, static_cast<std::uint64_t>(
                        std::lower_bound(begin, end, static_cast<std::uint32_t>(number)) - begin)};
}

// These are entries that a thread has decoded. The caller's memory may be changed by others, so nothing is
// read back of it.
class HostCodeSpace::Decoded {
  public:
    void read(const HostCodeSpace &space, const std::uint64_t *numbers, std::uint64_t count) {
        bytes_.clear();
        ends_.assign(1, 0);
        for (std::uint64_t i = 0; i < count; ++i) {
            const Source source = space.source_of(numbers[i]);
            EntryCursor cursor(space.areas_[source.member], source.code);
            cursor.next();
            bytes_ += cursor.entry();
            ends_.push_back(bytes_.size());
        }
    }
    std::string_view at(std::uint64_t i) const {
        return std::string_view(bytes_).substr(ends_[i], ends_[i + 1] - ends_[i]);
    }

  private:
    std::string bytes_;
    std::vector<std::size_t> ends_;
};

Status HostCodeSpace::read(Stream &stream, const std::uint64_t *numbers, std::uint64_t count, char *bytes,
                           std::uint64_t capacity, std::uint64_t *ends, std::uint64_t *done,
                           std::uint64_t *needed) const noexcept {
    return guarded([&] {
        *done = 0;
        *needed = 0;
        // So many are decoded at once, on all threads, before they are copied: not many more than have room,
        // if they are short.
        constexpr std::uint64_t pieces_at_once = 64;
        constexpr std::uint64_t short_bytes = 8;
        std::vector<Decoded> pieces(pieces_at_once);
        std::uint64_t used = 0;
        while (*done < count) {
            const std::uint64_t *wanted = numbers + *done;
            const std::uint64_t here =
                std::min(count - *done, std::clamp((capacity - used) / short_bytes, strings_a_piece,
                                                   pieces_at_once * strings_a_piece));
            const auto decode = [&](std::uint64_t from, std::uint64_t to) {
                pieces[from / strings_a_piece].read(*this, wanted + from, to - from);
            };
            engine_.workers(stream).for_pieces(here, strings_a_piece, decode);
            for (std::uint64_t i = 0; i < here; ++i) {
                const std::string_view entry = pieces[i / strings_a_piece].at(i % strings_a_piece);
                if (entry.size() > capacity - used) {
                    *needed = entry.size();
                    return Status{};
                }
                std::copy_n(entry.data(), entry.size(), bytes + used);
                used += entry.size();
                ends[(*done)++] = used;
            }
        }
        return Status{};
    });
}

Status HostStrings::make_space(Stream &stream, const SpaceMember *members, std::size_t count,
                               std::shared_ptr<const CodeSpace> *space) noexcept {
    return guarded([&] {
        if (count == 0 || count > CodeSpace::max_members) {
            return make_status(StatusCode::invalid_argument, "a code space has 1 to 65535 members");
        }
        check_cancelled(stream);
        *space = std::make_shared<const HostCodeSpace>(engine_, stream,
                                                       std::vector<SpaceMember>(members, members + count));
        return Status{};
    });
}

}  // namespace gpu_engine::host
