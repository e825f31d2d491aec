// Objects that are being loaded, and how they become mirrors: what requests that load have in common.
#pragma once

#include <cstdint>
#include <vector>

#include "server/requests/request.h"

namespace gpu_engine::server {

inline void set_result(protocol::ReplyHeader &header, protocol::ReplyResult result) {
    header.result = static_cast<std::uint32_t>(result);
}

inline void describe(const AnyObject &object, protocol::HandleReply &reply) {
    reply.entries += store_of(object)->entries();
    reply.bytes += store_of(object)->bytes();
}

// Throw Failure where the connection has no such object.
OwnObject &own_object(Work &work, std::uint64_t handle);
OwnObject &object_in_the_making(Work &work, std::uint64_t handle);
OwnObject &object_in_parts(Work &work, std::uint64_t handle);
// Returns the new object's handle.
std::uint64_t add_own_object(Work &work, OwnObject own);

// Does what all requests that begin a load have in common. Returns false when there is nothing to be loaded,
// which the reply then says.
bool begin_own(Work &work, const protocol::RunName &name, const protocol::Holder &holder, OwnObject *own,
               protocol::BeginReply &reply);

// Makes room on each engine for what an object takes there. Throws Failure.
void require_room(Work &work, OwnObject &own, const std::vector<NewMirrorPart> &parts);

// The same for a run of columns, and for its dictionaries of strings, which then come with its pages. Where
// there is no room for these they are left out: who needs them reads the pages.
void require_room_for_columns(Work &work, OwnObject &own, const StoreLayout &layout,
                              std::vector<NewMirrorPart> parts);
void append_strings(OwnObject &own, const void *images, std::uint32_t pages);

// Returns a run that one engine has.
std::vector<MirrorPart> whole_run(EngineId held_by, AnyObject object);
// Puts a finished run into the table; when its name is taken it is dropped. `strings` is the loader of its
// strings, if it has one.
void make_mirror(Work &work, std::vector<MirrorPart> parts, const protocol::RunName &name,
                 const protocol::Holder &holder, StringsLoader *strings = nullptr);

// Returns the bitmap in the transfer buffer that a request brings for a run; null when no entry is dead.
const std::uint64_t *bitmap_of(Work &work, const Mirror &mirror, const protocol::SetDead &request);
// Gives a part, which is on the work's engine, what the run's bitmap says of its entries.
void set_dead_of(Work &work, const MirrorPart &part, const std::uint64_t *bitmap, std::uint64_t version);

}  // namespace gpu_engine::server
