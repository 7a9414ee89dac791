// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import ServerRig
import Testing

@testable import HTTPDNS

/// A client that may have 4 connections, which calls to a silent server have taken up: all others wait for a place.
struct FullQueue {
    let server: RawServer
    let client: HTTPDNSClient
    private let admission: Admission
    private let holders: [Task<HTTPDNSClient.Response, any Error>]

    /// - Parameter total: How long calls may take that wait; those that hold the places have two minutes.
    init(total: Duration) async throws {
        let server = try RawServer(.readHead, .hang)
        let client = try await mappedClient(server.port) { configuration in
            configuration.connections.maximumPerHost = 4
            (configuration.timeouts.total, configuration.timeouts.responseHead) = (total, nil)
        }
        let admission = try #require(client.pipeline.admissions.queues.first)
        holders = (0..<4).map { _ in
            Task { try await client.get("http://one.test/") { $0.timeouts.total = .seconds(600) } }
        }
        // A request that has arrived has its place.
        try await server.awaitConnections { $0.count { $0.text.hasSuffix("\r\n\r\n") } == 4 }
        (self.server, self.client, self.admission) = (server, client, admission)
    }

    var placesTaken: Int { admission.connections }

    /// Has calls wait until they fail.
    func failures(_ count: Int) async -> [(error: HTTPDNSClientError?, time: Duration)] {
        await withTaskGroup(of: (HTTPDNSClientError?, Duration).self) { [client] tasks in
            for _ in 0..<count {
                tasks.addTask {
                    let start = ContinuousClock.now
                    let error = await clientError { try await client.get("http://one.test/") }
                    return (error, ContinuousClock.now - start)
                }
            }
            return await tasks.reduce(into: []) { $0.append($1) }
        }
    }

    /// Gives the places back, and ends the client.
    func end() async throws {
        for holder in holders { holder.cancel() }
        for holder in holders { await #expect(throws: CancellationError.self) { try await holder.value } }
        // It waits for the transfers of the four, with which their places are given back.
        try await client.shutdown()
        #expect(admission.connections == 0)
    }
}
