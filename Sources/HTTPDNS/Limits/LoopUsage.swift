// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// The loop that an admitted request gets.
struct LoopGrant: Hashable, Sendable {
    /// The loop with the connection that the request uses; nil when it needs a new one, whose loop is not chosen yet.
    var loop: Int?
    /// Whether the limits leave the choice of another loop.
    var mayChoose = true
}

/// The connections to one origin by loop: those in use, and those that became free there. A value type.
///
/// libcurl keeps an idle connection on the loop that made it. So a request that takes the place of another one goes to the loop
/// of that one, and finds its connection. The number of connections in use and free ones together never exceeds the limit for a
/// host. A free connection counts until it is used again, also when it has been closed meanwhile: its loop then makes another.
struct LoopUsage: Sendable {
    /// The number of requests by loop; the last entry is those whose loop is not chosen yet.
    private var requests: [Int]
    /// The number of free connections by loop.
    private var free: [Int]
    /// The loop on which a connection became free last. It is the least likely to have been closed.
    private var lastFreed = 0

    init(loops: Int) {
        requests = Array(repeating: 0, count: loops + 1)
        free = Array(repeating: 0, count: loops)
    }

    /// The number of connections that no request uses.
    var freeConnections: Int { free.reduce(0, +) }

    /// Returns the number of connections in use.
    /// - Parameter share: The number of requests that one connection carries.
    func connections(share: Int) -> Int { requests.reduce(0) { $0 + LoopUsage.connections($1, share) } }

    /// Returns whether a connection in use has room for one more request.
    func hasRoom(share: Int) -> Bool { requests.contains { $0 % share != 0 } }

    /// Adds an admitted request.
    /// - Parameter maximum: The limit of connections to a host.
    mutating func add(share: Int, atMost maximum: Int) -> LoopGrant {
        let mayChoose = connections(share: share) + freeConnections < maximum
        if let loop = free.indices.first(where: { requests[$0] % share != 0 }) {
            requests[loop] += 1
            return LoopGrant(loop: loop, mayChoose: mayChoose)
        }
        if requests[free.count] % share == 0,
            let loop = free[lastFreed] > 0 ? lastFreed : free.firstIndex(where: { $0 > 0 })
        {
            put(on: loop, share)
            return LoopGrant(loop: loop, mayChoose: mayChoose)
        }
        requests[free.count] += 1
        return LoopGrant()
    }

    /// Moves an admitted request to another loop, if the limit permits a connection there.
    /// - Returns: The loop that the request must use.
    mutating func move(from granted: Int?, to chosen: Int, share: Int, atMost maximum: Int) -> Int {
        guard granted != chosen, free.indices.contains(chosen) else { return granted ?? 0 }
        let before = self
        remove(from: granted, share)
        put(on: chosen, share)
        if connections(share: share) + freeConnections <= maximum { return chosen }
        self = before
        if let granted { return granted }
        // Requests without a loop share connections only as long as they do not choose different loops.
        remove(from: nil, share)
        let loop =
            free.indices.first { requests[$0] % share != 0 } ?? free.firstIndex { $0 > 0 }
            ?? free.indices.first { requests[$0] > 0 } ?? chosen
        put(on: loop, share)
        return loop
    }

    /// Removes a request; its connection is free when no other request uses it.
    mutating func remove(from loop: Int?, _ share: Int) {
        let index = loop ?? free.count
        guard requests[index] > 0 else { return }
        let before = LoopUsage.connections(requests[index], share)
        requests[index] -= 1
        guard let loop, LoopUsage.connections(requests[index], share) < before else { return }
        free[loop] += 1
        lastFreed = loop
    }

    /// Notes that connections carry many requests: of the free ones on a loop no more than one was made.
    mutating func noteSharing() {
        for loop in free.indices { free[loop] = min(free[loop], 1) }
    }

    private mutating func put(on loop: Int, _ share: Int) {
        if requests[loop] % share == 0, free[loop] > 0 { free[loop] -= 1 }
        requests[loop] += 1
    }

    private static func connections(_ requests: Int, _ share: Int) -> Int { (requests + share - 1) / share }
}
