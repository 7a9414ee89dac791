// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCurl
import ServerRig

@testable import HTTPDNS

extension ScriptedWire {
    /// A wire whose responses wait for a gate. They have a length, so that calls can share them.
    static func held(_ gate: Gate) -> ScriptedWire {
        ScriptedWire { request, _ in
            await gate.passage()
            return .sized(request)
        }
    }
}

extension HopAnswer {
    /// An answer of 5 bytes with its length.
    static func sized(
        _ request: TransferRequest,
        status: HTTPResponse.Status = .ok,
        fields: HTTPFields = [:]
    ) -> HopAnswer {
        var fields = fields
        fields[.contentLength] = "5"
        return .ok(from: request, status: status, fields: fields)
    }
}

extension Rig {
    /// Starts equal calls, and returns when all of them wait for one request.
    func calls(_ count: Int, to url: String) async throws -> [Task<HTTPDNSClient.Response, any Error>] {
        var tasks: [Task<HTTPDNSClient.Response, any Error>] = []
        // One after the other, so that the first one sends the request.
        for _ in 0..<count {
            tasks.append(Task { try await client.get(url) })
            while client.pipeline.reads.waiting < tasks.count { await Task.yield() }
        }
        while wire.requests.isEmpty { await Task.yield() }
        return tasks
    }
}

extension ReadCoalescer {
    /// The calls that send for others or wait for another one.
    var waiting: Int { leadCount + waiterCount }
}

extension HTTPDNSClient {
    /// The requests in flight that calls share, as operators see it.
    var sharedReads: Int? { status(limit: 0).connections.sharedReads }
    /// The calls that got the response to the request of another one, as operators see it.
    var mergedReads: Int? { status(limit: 0).connections.mergedReads }
}

extension HTTPDNSClient.Response {
    /// The body as text.
    func text() async throws -> String { String(decoding: try await body.collect(upTo: .mebibytes(4)), as: UTF8.self) }
}
