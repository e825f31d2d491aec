#include "studies/column/studies.h"

#include "studies/column/host/studies.h"
#include "host/engine.h"

namespace gpu_engine::host {
namespace {

class HostColumnStudies final : public ColumnStudies {
  public:
    explicit HostColumnStudies(HostEngine &engine) : histograms_(engine), dictionaries_(engine) {}

    Histograms &histograms() noexcept override { return histograms_; }
    Dictionaries &dictionaries() noexcept override { return dictionaries_; }

  private:
    HostHistograms histograms_;
    HostDictionaries dictionaries_;
};

}  // namespace

std::unique_ptr<ColumnStudies> make_column_studies(Engine &engine) {
    return std::make_unique<HostColumnStudies>(static_cast<HostEngine &>(engine));
}

}  // namespace gpu_engine::host
