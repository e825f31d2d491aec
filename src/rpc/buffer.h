// Inside the room: the end of the transfer buffer, which is that of its connection.
#pragma once

namespace pg_gpu::client {

// Only for disconnect: gives the memory back.
void drop_buffer();
// The same in a signal handler, where fd.c's count can't be brought up to date.
void drop_buffer_in_handler();
// How many counts that left behind; they are 0 afterwards.
int take_uncounted_descriptors();

}  // namespace pg_gpu::client
