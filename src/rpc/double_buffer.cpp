#include "rpc/rpc.h"

namespace pg_gpu::client {

bool open_double_buffer(DoubleBuffer *double_buffer, uint64 least, uint64 wanted) {
    *double_buffer = {};
    if (!need_buffer(least, wanted))
        return false;
    double_buffer->bytes = Min(buffer_bytes(), Max(least, wanted)) / 2 / BLCKSZ * BLCKSZ;
    return true;
}

uint64 next_half(const DoubleBuffer *double_buffer) {
    return double_buffer->next * double_buffer->bytes;
}

bool finish_double_buffer(DoubleBuffer *double_buffer) {
    if (!double_buffer->pending)
        return true;
    double_buffer->pending = false;
    protocol::ReplyHeader reply;
    return receive_reply(&reply, sizeof(reply)) &&
           (result_of(reply) == protocol::ReplyResult::done || fail_by_reply(reply));
}

bool send_half(DoubleBuffer *double_buffer, protocol::RequestHeader *message, double estimate) {
    if (!finish_double_buffer(double_buffer) || !send_request(message, estimate))
        return false;
    double_buffer->pending = true;
    double_buffer->next = 1 - double_buffer->next;
    return true;
}

}  // namespace pg_gpu::client
