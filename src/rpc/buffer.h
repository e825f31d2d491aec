// Inside the room: the end of the transfer buffer, which is that of its connection.
#pragma once

namespace pg_gpu::client {

// disconnect calls it to give the memory back.
void drop_buffer();
// Does the same in a signal handler, where fd.c's count of descriptors can't be brought up to date.
void drop_buffer_in_handler();
// Returns how many descriptors that has left counted, and sets the number to 0. The caller corrects fd.c's
// count.
int take_uncounted_descriptors();

}  // namespace pg_gpu::client
