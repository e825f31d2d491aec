// Code spaces as requests name them.
#pragma once

#include "server/requests/request.h"
#include "server/requests/run_set.h"

namespace gpu_engine::server {

struct ListedMembers {
    std::vector<protocol::SpaceMemberPlace> places;
    CodeSpaces::Members members;
    bool are_there = true;  // all strings are in memory
};

// Reads what the session may change meanwhile. Throws Failure where it can't be.
ListedMembers read_members(const TransferBuffer &buffer, const protocol::ArrayPlace &listed,
                           const RunSet &runs);

ListedMembers take_members(std::vector<protocol::SpaceMemberPlace> places, const RunSet &runs);

// Throws Failure, also where strings aren't there.
std::shared_ptr<const CodeSpace> space_of(Work &work, const ListedMembers &listed);

}  // namespace gpu_engine::server
