// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSCurl
import HTTPDNSTesting
import ServerRig
import Testing

struct PipelineOrderTests {
    private func noting(_ name: String, in journal: Journal<String>) -> Around {
        Around { request, context, next in
            journal.write("\(name) in")
            defer { journal.write("\(name) out") }
            return try await next(request, context)
        }
    }

    private func rig(_ journal: Journal<String>, failing: Bool = false) throws -> Rig {
        let wire = ScriptedWire { request, _ in
            journal.write("wire")
            if failing { throw TransferFailure(code: .connectFailed, phase: .connect, message: "refused") }
            return .ok(from: request)
        }
        return try Rig(wire: wire) { configuration in
            configuration.applicationInterceptors = [noting("a1", in: journal), noting("a2", in: journal)]
            configuration.networkInterceptors = [noting("n1", in: journal), noting("n2", in: journal)]
        }
    }

    private let order = [
        "a1 in", "a2 in", "n1 in", "n2 in", "wire", "n2 out", "n1 out", "a2 out", "a1 out",
    ]

    @Test("Application interceptors precede network ones, and follow them on the way back", arguments: [false, true])
    func order(failing: Bool) async throws {
        let journal = Journal<String>()
        let rig = try rig(journal, failing: failing)
        let error = await clientError { try await rig.client.get("https://one.test/") }
        #expect(error?.code == (failing ? .connectFailed : nil))
        #expect(journal.all == order)
    }

    @Test("A canceled call passes each interceptor once, and in reverse on the way back")
    func canceledOrder() async throws {
        let (journal, sent) = (Journal<String>(), Gate())
        let wire = ScriptedWire { _, _ in
            journal.write("wire")
            sent.open()
            // It ends with the cancellation of its task alone.
            try await SystemTimeSource().sleep(until: SystemTimeSource().now() + .seconds(3600))
            throw CancellationError()
        }
        let rig = try Rig(wire: wire) { configuration in
            configuration.applicationInterceptors = [noting("a1", in: journal), noting("a2", in: journal)]
            configuration.networkInterceptors = [noting("n1", in: journal), noting("n2", in: journal)]
        }
        let call = Task { try await rig.client.get("https://one.test/") { $0.timeouts.responseHead = nil } }
        await sent.passage()
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(journal.all == order)
    }

    @Test("Nothing is resolved before the last network interceptor calls next")
    func stageIsInnermost() async throws {
        let rig = try Rig { configuration in
            configuration.networkInterceptors = [
                Around { _, _, _ in HTTPDNSClient.Response(head: HTTPResponse(status: .accepted), body: .bytes([])) }
            ]
        }
        let response = try await rig.client.get("https://one.test/")
        #expect(response.status == .accepted)
        #expect(response.exchanges.isEmpty && response.exchange?.source == nil)
        #expect(rig.provider.queries.isEmpty && rig.wire.requests.isEmpty)
    }

    @Test("A changed request is the one canonicalized, checked, resolved and sent")
    func changedRequest() async throws {
        let rig = try Rig { configuration in
            configuration.networkInterceptors = [
                Around.before { request in
                    request.url = "https://TWO.test/other"
                    request.method = .put
                }
            ]
        }
        _ = try await rig.client.get("https://one.test/")
        let sent = try #require(rig.wire.requests.first)
        #expect(sent.url.description == "https://two.test/other" && sent.method == .put)
        #expect(sent.endpoints.map(\.description) == ["203.0.113.2:443"])
        #expect(rig.provider.queries.map(\.host.description) == ["two.test"])
    }

    @Test("An interceptor may call next again after a failure, and each call is a transfer")
    func retrying() async throws {
        let wire = ScriptedWire { request, number in
            if number < 2 { throw TransferFailure(code: .connectFailed, phase: .connect, message: "refused") }
            return .ok(from: request)
        }
        let rig = try Rig(wire: wire) { configuration in
            configuration.applicationInterceptors = [
                Around { request, context, next in
                    for _ in 0..<2 {
                        if let response = try? await next(request, context) { return response }
                    }
                    return try await next(request, context)
                }
            ]
        }
        let response = try await rig.client.post("https://one.test/", body: .text("again"))
        #expect(response.status == .ok)
        #expect(rig.wire.requests.count == 3)
        #expect(Set(rig.wire.requests.map(\.limits.deadline)).count == 1)
        #expect(rig.provider.queries.count == 1)
    }

    /// The error says that the first may have arrived.
    @Test("A streamed body is sent once, and a second sending is refused")
    func streamedBodyTwice() async throws {
        let journal = Journal<String>()
        let wire = ScriptedWire { request, _ in
            if case .stream(_, let chunks) = request.body {
                var iterator = chunks.makeAsyncIterator()
                while let chunk = try await iterator.next(isolation: nil) {
                    journal.write(String(decoding: chunk, as: UTF8.self))
                }
            }
            var failure = TransferFailure(code: .connectionLost, phase: .firstByte, message: "lost")
            failure.requestMayHaveBeenSent = true
            throw failure
        }
        let rig = try Rig(wire: wire) { configuration in
            configuration.applicationInterceptors = [
                Around { request, context, next in
                    _ = try? await next(request, context)
                    return try await next(request, context)
                }
            ]
        }
        let body = HTTPDNSClient.Request.Body.stream(Chunks([Array("a".utf8), Array("b".utf8)]))
        #expect(!body.isReplayable)
        let error = await clientError { try await rig.client.post("https://one.test/", body: body) }
        #expect(error?.code == .requestBodyFailed)
        #expect(error?.requestMayHaveBeenSent == true)
        #expect(journal.all == ["a", "b"])
        #expect(rig.wire.requests.count == 1)
        let later = await clientError { try await rig.client.post("https://one.test/", body: body) }
        #expect(later?.code == .requestBodyFailed)
        #expect(rig.wire.requests.count == 1)
    }

    /// Outer interceptors see it as it is.
    @Test("An interceptor's own error fails its request only")
    func foreignError() async throws {
        struct TokenMissing: Error { let secret = "hunter2" }
        let journal = Journal<String>()
        let rig = try Rig { configuration in
            configuration.applicationInterceptors = [
                Around { request, context, next in
                    do {
                        return try await next(request, context)
                    } catch {
                        journal.write("\(type(of: error))")
                        throw error
                    }
                },
                Around.before { request in
                    if request.url.hasSuffix("/bad") { throw TokenMissing() }
                },
            ]
        }
        async let good = rig.client.get("https://one.test/good")
        let error = await clientError { try await rig.client.get("https://one.test/bad") }
        #expect(error?.code == .interceptorFailed && error?.phase == .interceptor)
        #expect(error?.underlying is TokenMissing)
        #expect(error?.description.contains("TokenMissing") == true)
        #expect(error?.description.contains("hunter2") == false)
        #expect(journal.all == ["TokenMissing"])
        #expect(try await good.status == .ok)
    }

    @Test("An error after a response says that the request may have been sent")
    func errorAfterAnswer() async throws {
        struct Unhappy: Error {}
        let rig = try Rig { configuration in
            configuration.networkInterceptors = [
                Around { request, context, next in
                    _ = try await next(request, context)
                    throw Unhappy()
                }
            ]
        }
        let error = await clientError { try await rig.client.post("https://one.test/", body: .text("x")) }
        #expect(error?.requestMayHaveBeenSent == true)
    }

    @Test("CancellationError passes through as itself")
    func cancellation() async throws {
        let rig = try Rig(wire: ScriptedWire { _, _ in throw CancellationError() }) { configuration in
            configuration.applicationInterceptors = [Around { try await $2($0, $1) }]
        }
        await #expect(throws: CancellationError.self) { try await rig.client.get("https://one.test/") }
    }

    @Test("Interceptors run in the caller's task")
    func callersTask() async throws {
        enum Local { @TaskLocal static var mark = 0 }
        let journal = Journal<String>()
        let rig = try Rig { configuration in
            configuration.networkInterceptors = [Around.before { _ in journal.write("\(Local.mark)") }]
        }
        _ = try await Local.$mark.withValue(7) { try await rig.client.get("https://one.test/") }
        #expect(journal.all == ["7"])
    }

    @Test("Limits of client and request reach the transfer")
    func limits() async throws {
        let rig = try Rig { configuration in
            configuration.timeouts.connect = .seconds(1)
            configuration.timeouts.idle = nil
            configuration.maximumResponseBody = .kibibytes(1)
        }
        let before = SystemTimeSource().now()
        _ = try await rig.client.get("http://one.test/")
        _ = try await rig.client.get("http://one.test/") {
            $0.timeouts.total = .seconds(700)
            $0.maximumResponseBody = .bytes(5)
            $0.versions = .http1Only
        }
        let after = SystemTimeSource().now()
        let sent = rig.wire.requests
        #expect(sent[0].limits.connect == .seconds(1) && sent[0].limits.idle == nil)
        #expect(sent[0].limits.maximumResponseBytes == 1024 && sent[0].versions == .automatic)
        #expect(sent[1].limits.maximumResponseBytes == 5 && sent[1].versions == .http1Only)
        let deadline = try #require(sent[1].limits.deadline)
        #expect(deadline >= before + .seconds(700) && deadline <= after + .seconds(700))
    }

    @Test("Each sending of an interceptor is in the exchanges, that of the response last", arguments: [false, true])
    func secondSending(returnsFirst: Bool) async throws {
        let wire = ScriptedWire { request, number in .ok(from: request, status: number == 0 ? .accepted : .ok) }
        let rig = try Rig(wire: wire) { configuration in
            configuration.applicationInterceptors = [
                Around { request, context, next in
                    let first = try await next(request, context)
                    let second = try await next(request, context)
                    return returnsFirst ? first : second
                }
            ]
        }
        let statuses = try await rig.client.get("https://one.test/").exchanges.map { $0.status.code }
        #expect(statuses == (returnsFirst ? [200, 202] : [202, 200]))
    }
}
