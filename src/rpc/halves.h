// Inside the client: streams to the server through the two halves of the transfer buffer. The server works on
// one while the session fills the other.
#pragma once

#include "rpc/connection.h"

namespace pg_gpu::client {

struct Halves {
    uint64 bytes;  // of a half
    int next;
    bool pending;  // the last message's reply hasn't come
};

// Sees to a transfer buffer for them.
bool open_halves(Halves *halves, uint64 least, uint64 wanted);

// Where the half to be filled begins.
uint64 next_half(const Halves *halves);

// Sends the message about the half just filled, after the reply to the one before: false when that wasn't
// `done`.
bool send_half(Halves *halves, protocol::RequestHeader *message, double estimate);

// Waits for the last reply. Also after a failure, so that the connection is free for the next request.
bool settle_halves(Halves *halves);

}  // namespace pg_gpu::client
