// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

package import HTTPDNS
package import HTTPDNSCurl
package import HTTPTypes
internal import ServerRig

/// A way to the wire that answers as a test says, and keeps what it was asked to send.
package final class ScriptedWire: HopSending {
    package typealias Script = @Sendable (TransferRequest, Int) async throws -> HopAnswer

    private struct State: Sendable {
        package var requests: [TransferRequest] = []
        var shutdowns: [Duration] = []
        var retirements = 0
    }

    private let state = Lock(State())
    private let script: Script

    /// - Parameter script: What is answered to a request and its number, from 0.
    package init(_ script: @escaping Script = { request, _ in .ok(from: request) }) { self.script = script }

    package var requests: [TransferRequest] { state.withLock { $0.requests } }
    package var shutdowns: [Duration] { state.withLock { $0.shutdowns } }

    package func send(_ request: TransferRequest, unless isStale: () -> Bool) async throws -> HopAnswer? {
        if isStale() { return nil }
        let number = state.withLock { state in
            var kept = request
            // It is for the time of the sending, and not for that of the test.
            kept.permit = nil
            state.requests.append(kept)
            return state.requests.count - 1
        }
        return try await script(request, number)
    }

    /// How often connections were to be used no more.
    package var retirements: Int { state.withLock { $0.retirements } }

    package func retireConnections() { state.withLock { $0.retirements += 1 } }

    package func shutdown(drainingFor duration: Duration) async {
        state.withLock { $0.shutdowns.append(duration) }
    }
}

extension HopAnswer {
    /// An answer from the first endpoint of the request.
    package static func ok(
        from request: TransferRequest,
        status: HTTPResponse.Status = .ok,
        fields: HTTPFields = [:],
        chunks: [[UInt8]] = [Array("hello".utf8)],
        endingWith failure: TransferFailure? = nil
    ) -> HopAnswer {
        ok(from: request, status: status, fields: fields, chunks: Chunks(chunks, endingWith: failure))
    }

    package static func ok(
        from request: TransferRequest,
        status: HTTPResponse.Status = .ok,
        fields: HTTPFields = [:],
        chunks: some AsyncSequence<[UInt8], any Error> & Sendable
    ) -> HopAnswer {
        answer(ResponseHead(HTTPResponse(status: status, headerFields: fields)), request.endpoints[0], .chunks(chunks))
    }

    private static func answer(_ head: ResponseHead, _ endpoint: HTTPDNSEndpoint, _ body: Body) -> HopAnswer {
        let timings = HTTPDNSClient.Exchange.Timings()
        return HopAnswer(
            TransferHead(head: head, version: .http11, endpoint: endpoint, reusedConnection: false, timings: timings),
            body
        )
    }

    /// The head, which a script may change.
    package var head: ResponseHead {
        get { facts.head }
        set { self = HopAnswer.answer(newValue, facts.endpoint, body) }
    }
}
