#include "server/requests/match_results.h"

namespace gpu_engine::server {

MatchBytes match_bytes(const protocol::LookupKary &request) {
    switch (static_cast<protocol::LookupForm>(request.form)) {
        case protocol::LookupForm::numbered:
            return {sizeof(Tid), sizeof(std::uint32_t)};
        case protocol::LookupForm::tids:
            return {sizeof(Tid), 0};
        case protocol::LookupForm::number:
            return {0, 0};
        default:
            throw Failure{make_status(StatusCode::invalid_argument, "unknown form of a lookup")};
    }
}

}  // namespace gpu_engine::server
