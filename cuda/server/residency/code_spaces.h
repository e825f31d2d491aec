// Code spaces that requests share (gpu_engine/strings.h): one for each set of runs' dictionaries, as long as
// these are in memory.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "gpu_engine/engine.h"
#include "gpu_engine/strings.h"

namespace gpu_engine::server {

// All functions may be called by any thread.
class CodeSpaces {
  public:
    using Members = std::vector<SpaceMember>;
    using Make = std::function<std::shared_ptr<const CodeSpace>()>;

    // Returns the members' space. Where there is none `make` makes it; others who want it meanwhile wait.
    // Throws what `make` throws, and Failure when the stream is cancelled.
    std::shared_ptr<const CodeSpace> get(const Stream &stream, const Members &members, const Make &make);

    // Drops spaces that no request uses, least recently used first, until that has freed so many bytes or
    // none is left. Returns whether there was any.
    bool drop(std::uint64_t bytes);
    // Drops all spaces that a run's dictionaries are members of.
    void forget(const RunStrings *strings);
    std::uint64_t bytes();

  private:
    struct Entry {
        Members members;
        std::shared_ptr<const CodeSpace> space;  // null while it is made
    };
    using Entries = std::list<Entry>;

    static bool is_of(const Entry &entry, const Members &members);
    std::shared_ptr<const CodeSpace> make_for(Entries::iterator entry, const Make &make);

    std::mutex mutex_;
    std::condition_variable made_;
    Entries entries_;  // the most recently used one first
};

}  // namespace gpu_engine::server
