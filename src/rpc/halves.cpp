#include "rpc/rpc.h"

namespace pg_gpu::client {

bool open_halves(Halves *halves, uint64 least, uint64 wanted) {
    *halves = {};
    if (!need_buffer(least, wanted))
        return false;
    halves->bytes = Min(buffer_bytes(), Max(least, wanted)) / 2 / BLCKSZ * BLCKSZ;
    return true;
}

uint64 next_half(const Halves *halves) {
    return halves->next * halves->bytes;
}

bool settle_halves(Halves *halves) {
    if (!halves->pending)
        return true;
    halves->pending = false;
    protocol::ReplyHeader reply;
    return receive_reply(&reply, sizeof(reply)) &&
           (answer_of(reply) == protocol::Answer::done || fail_by_answer(reply));
}

bool send_half(Halves *halves, protocol::RequestHeader *message, double estimate) {
    if (!settle_halves(halves) || !send_request(message, estimate))
        return false;
    halves->pending = true;
    halves->next = 1 - halves->next;
    return true;
}

}  // namespace pg_gpu::client
