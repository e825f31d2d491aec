#include "server/residency/code_spaces.h"

#include <algorithm>
#include <chrono>

#include "gpu_engine/guard.h"

namespace gpu_engine::server {

bool CodeSpaces::is_of(const Entry &entry, const Members &members) {
    return std::equal(
        entry.members.begin(), entry.members.end(), members.begin(), members.end(),
        [](const SpaceMember &a, const SpaceMember &b) { return a.run == b.run && a.column == b.column; });
}

std::shared_ptr<const CodeSpace> CodeSpaces::get(const Stream &stream, const Members &members,
                                                 const Make &make) {
    // Who waits looks so often whether it is cancelled.
    constexpr std::chrono::milliseconds pause(5);
    std::unique_lock lock(mutex_);
    for (;;) {
        const auto entry = std::find_if(entries_.begin(), entries_.end(),
                                        [&](const Entry &other) { return is_of(other, members); });
        if (entry == entries_.end()) {
            entries_.push_front({members, nullptr});
            const auto added = entries_.begin();
            lock.unlock();
            return make_for(added, make);
        }
        if (entry->space != nullptr) {
            entries_.splice(entries_.begin(), entries_, entry);
            return entry->space;
        }
        if (stream.cancelled()) {
            throw Failure{make_status(StatusCode::cancelled, "cancelled by the caller")};
        }
        made_.wait_for(lock, pause);
    }
}

// Where making it fails those who wait try by themselves.
std::shared_ptr<const CodeSpace> CodeSpaces::make_for(Entries::iterator entry, const Make &make) {
    std::shared_ptr<const CodeSpace> space;
    try {
        space = make();
    } catch (...) {
        const std::lock_guard lock(mutex_);
        entries_.erase(entry);
        made_.notify_all();
        throw;
    }
    const std::lock_guard lock(mutex_);
    entry->space = space;
    made_.notify_all();
    return space;
}

bool CodeSpaces::drop(std::uint64_t bytes) {
    Entries dropped;
    const std::lock_guard lock(mutex_);
    for (std::uint64_t freed = 0; freed < bytes;) {
        // Requests get their share of a space under the mutex, so one that only this has stays unused.
        const auto last = std::find_if(entries_.rbegin(), entries_.rend(),
                                       [](const Entry &entry) { return entry.space.use_count() == 1; });
        if (last == entries_.rend()) {
            break;
        }
        freed += last->space->bytes();
        dropped.splice(dropped.begin(), entries_, std::prev(last.base()));
    }
    return !dropped.empty();
}

void CodeSpaces::forget(const RunStrings *strings) {
    Entries dropped;
    const std::lock_guard lock(mutex_);
    for (auto entry = entries_.begin(); entry != entries_.end();) {
        const auto next = std::next(entry);
        const bool has_it =
            std::any_of(entry->members.begin(), entry->members.end(),
                        [strings](const SpaceMember &member) { return member.run.get() == strings; });
        if (has_it && entry->space != nullptr) {
            dropped.splice(dropped.begin(), entries_, entry);
        }
        entry = next;
    }
}

std::uint64_t CodeSpaces::bytes() {
    const std::lock_guard lock(mutex_);
    std::uint64_t bytes = 0;
    for (const Entry &entry : entries_) {
        bytes += entry.space != nullptr ? entry.space->bytes() : 0;
    }
    return bytes;
}

}  // namespace gpu_engine::server
