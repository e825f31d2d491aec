// The base of the engine's interfaces.
#pragma once

namespace gpu_engine {

// An object behind an interface has one owner, and is never copied.
class Interface {
  public:
    Interface() = default;
    Interface(const Interface &) = delete;
    Interface &operator=(const Interface &) = delete;
    virtual ~Interface() = default;
};

}  // namespace gpu_engine
