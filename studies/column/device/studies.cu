#include "studies/column/studies.h"

#include "studies/column/device/studies.h"
#include "device/engine.h"

namespace gpu_engine::device {
namespace {

class DeviceColumnStudies final : public ColumnStudies {
  public:
    explicit DeviceColumnStudies(DeviceEngine &engine) : histograms_(engine), dictionaries_(engine) {}

    Histograms &histograms() noexcept override { return histograms_; }
    Dictionaries &dictionaries() noexcept override { return dictionaries_; }

  private:
    DeviceHistograms histograms_;
    DeviceDictionaries dictionaries_;
};

}  // namespace

std::unique_ptr<ColumnStudies> make_column_studies(Engine &engine) {
    return std::make_unique<DeviceColumnStudies>(static_cast<DeviceEngine &>(engine));
}

}  // namespace gpu_engine::device
