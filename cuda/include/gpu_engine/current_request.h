// What a thread computes at the moment: where a fault ends the process, it can say of which request.
#pragma once

#include <utility>

namespace gpu_engine {

// Null: no request is known. The engines only hand it on to the threads that help.
inline thread_local constinit const void *current_request = nullptr;

class OnRequest {
  public:
    explicit OnRequest(const void *request) noexcept : before_(std::exchange(current_request, request)) {}
    OnRequest(const OnRequest &) = delete;
    OnRequest &operator=(const OnRequest &) = delete;
    ~OnRequest() { current_request = before_; }

  private:
    const void *const before_;
};

}  // namespace gpu_engine
