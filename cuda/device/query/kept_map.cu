#include "device/query/kept_map.h"

namespace gpu_engine::query::on_device {

DeviceKeptMap::DeviceKeptMap(const Call &call, const MapValues &values)
    : places_(values.places),
      words_(values.words),
      values_(upload(call, values.values, values.places * values.words)) {
    if (values.nulls != nullptr) {
        nulls_ = upload(call, values.nulls, (values.places + 63) / 64);
    }
    call.wait();
    for (Buffer<std::uint64_t> *buffer : {&values_, &nulls_}) {
        buffer->set_stream(call.engine().release_stream());
    }
}

const DeviceKeptMap &kept_map_of(const RunColumn &column, std::uint32_t words) {
    const auto *kept = dynamic_cast<const DeviceKeptMap *>(column.kept);
    if (kept == nullptr || kept->words() != words) {
        throw Failure{make_status(StatusCode::invalid_argument, "the map is another engine's or type's")};
    }
    return *kept;
}

}  // namespace gpu_engine::query::on_device
