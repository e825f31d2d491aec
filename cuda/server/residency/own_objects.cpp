#include "server/residency/own_objects.h"

#include <algorithm>

namespace gpu_engine::server {

using protocol::ReplyResult;
using protocol::RunName;

namespace {

// The objects that a connection may have, so that it can't take the server's memory with ever more of them.
constexpr std::size_t max_own_objects = 64;

const char *reason_of(Room room) {
    switch (room) {
        case Room::beyond_role_quota:
            return "pg_gpu.role_mirror_quota leaves no room for the mirror";
        case Room::beyond_database_quota:
            return "pg_gpu.database_mirror_quota leaves no room for the mirror";
        case Room::used_by_others:
            return "other sessions used lately what a mirror for a forced path would replace";
        default:
            return "the engine's memory limit leaves no room for the array";
    }
}

}  // namespace

OwnObject &own_object(Work &work, std::uint64_t handle) {
    const auto found = work.connection.objects.find(handle);
    if (found == work.connection.objects.end()) {
        refuse("the connection has no array of this handle");
    }
    // A handle's request is computed where the array is; one of another kind of engine is not.
    if (found->second.engine != work.engine_name) {
        refuse("the array is another engine's");
    }
    return found->second;
}

OwnObject &object_in_the_making(Work &work, std::uint64_t handle) {
    OwnObject &own = own_object(work, handle);
    if (!own.loader) {
        refuse("the array is in parts on several engines");
    }
    return own;
}

OwnObject &object_in_parts(Work &work, std::uint64_t handle) {
    OwnObject &own = own_object(work, handle);
    if (own.in_parts == nullptr) {
        refuse("the array is not in parts");
    }
    return own;
}

std::uint64_t add_own_object(Work &work, OwnObject own) {
    if (work.connection.objects.size() >= max_own_objects) {
        refuse("the connection has too many arrays");
    }
    const std::uint64_t handle = ++work.connection.last_handle;
    work.connection.objects.emplace(handle, std::move(own));
    return handle;
}

bool begin_own(Work &work, const RunName &name, const protocol::Holder &holder, OwnObject *own,
               protocol::BeginReply &reply) {
    if (name == RunName{}) {
        refuse("the name is empty");
    }
    own->engine = work.engine_name;
    own->held_by = work.id;
    own->name = name;
    own->holder = holder;
    switch (work.server().mirrors().claim(work.engine_name, name, holder.pinned != 0, &own->claim,
                                          &reply.dead_version)) {
        case Mirrors::Claimed::yes:
            break;
        case Mirrors::Claimed::present:
            return false;
        case Mirrors::Claimed::by_another:
            set_result(reply.header, ReplyResult::loading);
            return false;
    }
    return true;
}

void require_room(Work &work, OwnObject &own, const std::vector<NewMirrorPart> &parts) {
    const Room room = work.server().mirrors().make_room_for({work.engine_name, own.name, own.holder, parts},
                                                            work.purpose, &own.claim);
    if (room != Room::made) {
        throw Failure{make_status(StatusCode::out_of_memory, reason_of(room))};
    }
}

void require_room_for_columns(Work &work, OwnObject &own, const StoreLayout &layout,
                              std::vector<NewMirrorPart> parts) {
    Engine &host = work.server().engines().host();
    const std::uint64_t bytes = host.strings()->bytes_of(layout);
    if (bytes > 0) {
        std::vector<NewMirrorPart> with_strings = parts;
        const auto of_host =
            std::find_if(with_strings.begin(), with_strings.end(),
                         [](const NewMirrorPart &part) { return part.held_by == strings_engine; });
        if (of_host == with_strings.end()) {
            with_strings.push_back({strings_engine, &host.memory(), bytes, bytes});
        } else {
            of_host->bytes += bytes;
            of_host->bytes_in_the_making += bytes;
        }
        const NewMirror mirror = {work.engine_name, own.name, own.holder, std::move(with_strings)};
        if (work.server().mirrors().make_room_for(mirror, work.purpose, &own.claim) == Room::made &&
            host.strings()->open_loader(layout, &own.strings).ok()) {
            return;
        }
    }
    require_room(work, own, parts);
}

void append_strings(OwnObject &own, const void *images, std::uint32_t pages) {
    if (own.strings != nullptr && !own.strings->append_pages(images, pages).ok()) {
        own.strings = nullptr;
    }
}

std::vector<MirrorPart> whole_run(EngineId held_by, AnyObject object) {
    std::vector<MirrorPart> parts;
    parts.push_back({held_by, 0, std::move(object)});
    return parts;
}

void make_mirror(Work &work, std::vector<MirrorPart> parts, const RunName &name,
                 const protocol::Holder &holder, StringsLoader *strings) {
    auto mirror = std::make_shared<Mirror>();
    mirror->name = name;
    mirror->engine = work.engine_name;
    mirror->parts = std::move(parts);
    mirror->spaces = &work.server().mirrors().spaces();
    mirror->maps = &work.server().mirrors().maps();
    if (strings != nullptr) {
        static_cast<void>(strings->finish(&mirror->strings));
    }
    mirror->holder = holder;
    mirror->loaded_at = microseconds_since_1970();
    mirror->last_used = mirror->loaded_at;
    for (const MirrorPart &part : mirror->parts) {
        mirror->is_overflow =
            mirror->is_overflow || work.server().engines().name_of(part.held_by) != mirror->engine;
    }
    static_cast<void>(work.server().mirrors().add(std::move(mirror), work.purpose));
}

const std::uint64_t *bitmap_of(Work &work, const Mirror &mirror, const protocol::SetDead &request) {
    if (request.words == 0) {
        return nullptr;
    }
    if (request.words < (entries_of(mirror) + 63) / 64) {
        refuse("the dead bitmap doesn't cover the array");
    }
    return work.connection.buffer.part<std::uint64_t>(request.offset, request.words);
}

void set_dead_of(Work &work, const MirrorPart &part, const std::uint64_t *bitmap, std::uint64_t version) {
    Store *store = store_of(part.object);
    if (version < store->dead_version()) {
        return;
    }
    const std::uint64_t *of_part = bitmap != nullptr ? bitmap + part.first / 64 : nullptr;
    const Status status = with_room(work, [&] { return store->set_dead(*work.stream, of_part, version); });
    // A newer bitmap may have come meanwhile, which makes this one needless.
    if (!status.ok() && store->dead_version() <= version) {
        throw Failure{status};
    }
}

}  // namespace gpu_engine::server
