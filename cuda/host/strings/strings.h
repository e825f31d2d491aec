// Dictionaries of strings and code spaces in the machine's memory.
#pragma once

#include "gpu_engine/strings.h"

namespace gpu_engine::host {

class HostEngine;

class HostStrings final : public Strings {
  public:
    explicit HostStrings(HostEngine &engine) : engine_(engine) {}

    std::uint64_t bytes_of(const StoreLayout &layout) const noexcept override;
    Status open_loader(const StoreLayout &layout, std::unique_ptr<StringsLoader> *loader) noexcept override;
    Status make_space(Stream &stream, const SpaceMember *members, std::size_t count,
                      std::shared_ptr<const CodeSpace> *space) noexcept override;

  private:
    HostEngine &engine_;
};

}  // namespace gpu_engine::host
