// Faults that end the process: it says which request they were of, so that nobody sends such a request again.
#pragma once

#include <cstddef>

namespace gpu_engine::server {

// Writes the current request's last words to the log, if the session has said anything of it.
void name_current_request() noexcept;

// Signals of faults name the current request, and then end the process as they would have done.
void name_requests_of_faults();

// A thread's stack for that, where its own is used up. It must be made in the thread.
class FaultStack {
  public:
    FaultStack() noexcept;
    FaultStack(const FaultStack &) = delete;
    FaultStack &operator=(const FaultStack &) = delete;
    ~FaultStack();

  private:
    alignas(16) char bytes_[std::size_t(32) << 10];
};

}  // namespace gpu_engine::server
