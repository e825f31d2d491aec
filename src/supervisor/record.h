// The supervisor's notes on the server process, for gpu.server: no other process can see its children.
#pragma once

#include "supervisor/supervisor.h"

namespace pg_gpu::client {

// There is one supervisor at a time: begin_supervision returns false where there is one, or shared memory has
// no room for the record. A supervisor that crashes has PostgreSQL start anew, and the record with it.
bool begin_supervision();
void end_supervision();

// The supervisor calls these to note what happens.
void record_server_start(pid_t pid);
// A server process ended by such a request, with this status.
void begin_quarantine(const protocol::Subject &subject, Path path, int status);
void record_server_stop();
void record_restart();
void record_error(const char *format, ...) pg_attribute_printf(1, 2);

}  // namespace pg_gpu::client
