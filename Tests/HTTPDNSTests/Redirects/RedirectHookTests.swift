// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSCurl
import HTTPDNSTesting
import ServerRig
import Testing

/// What users have a say in, and what a hop is.
struct RedirectHookTests {
    private func wire(_ place: String = "https://two.test/new") -> ScriptedWire {
        ScriptedWire(.redirect(302, to: place))
    }

    @Test("A hook sees the redirected request, the next one and the dropped fields")
    func sees() async throws {
        let journal = Journal<String>()
        let rig = try Rig(wire: wire()) {
            $0.redirectHook = { redirect in
                journal.write("\(redirect.number) \(redirect.response.status.code)")
                journal.write("\(redirect.request.method) \(redirect.request.url)")
                journal.write("\(redirect.next.method) \(redirect.next.url)")
                journal.write("\(redirect.changesOrigin) \(redirect.droppedFields)")
                return .follow
            }
        }
        var request = HTTPDNSClient.Request(method: .post, url: "https://one.test/old", body: .text("x"))
        request.headerFields[.authorization] = "secret"
        #expect(try await rig.client.execute(request).status == .ok)
        #expect(
            journal.all == [
                "1 302", "POST https://one.test/old", "GET https://two.test/new", "true [Authorization]",
            ]
        )
    }

    @Test("A hook that refuses gives the 3xx with its body")
    func refuses() async throws {
        let rig = try Rig(wire: wire()) { $0.redirectHook = { _ in .refuse } }
        let response = try await rig.client.get("https://one.test/")
        #expect(response.status.code == 302 && rig.wire.requests.count == 1)
        #expect(try await response.body.collect(upTo: .bytes(5)) == Array("hello".utf8))
    }

    /// A body that notes when it is read.
    private struct NotedBody: AsyncSequence, AsyncIteratorProtocol, Sendable {
        let journal: Journal<String>
        var chunks: [[UInt8]]

        mutating func next() async throws -> [UInt8]? {
            guard !chunks.isEmpty else {
                journal.write("end")
                return nil
            }
            journal.write("read")
            return chunks.removeFirst()
        }

        func makeAsyncIterator() -> NotedBody { self }
    }

    @Test("A hook is called when the redirect's body has freed its connection", arguments: [10, 16_384, 20_000])
    func freed(length: Int) async throws {
        let journal = Journal<String>()
        let wire = ScriptedWire { request, _ in
            let body = NotedBody(journal: journal, chunks: [[UInt8](repeating: 7, count: length)])
            return .ok(from: request, status: .found, fields: [.location: "/b"], chunks: body)
        }
        let rig = try Rig(wire: wire) {
            $0.redirectHook = { _ in
                journal.write("hook")
                return .refuse
            }
        }
        let response = try await rig.client.get("https://one.test/")
        #expect(journal.all == (length <= 16_384 ? ["read", "end", "hook"] : ["read", "hook"]))
        let error = await clientError {
            let body = try await response.body.collect(upTo: .mebibytes(1))
            #expect(body.count == length)
        }
        // What was not kept is no body with another end.
        #expect(error?.code == (length <= 16_384 ? nil : .responseTooLarge) && response.status.code == 302)
    }

    @Test("The URL of a refused redirect is that of its hop, also when answered in process")
    func refusedInProcess() async throws {
        let rig = try Rig(wire: wire()) { configuration in
            configuration.redirectHook = { $0.number == 1 ? .follow : .refuse }
            configuration.networkInterceptors = [
                Around { request, context, next in
                    guard request.url.hasPrefix("https://two.test/") else { return try await next(request, context) }
                    let head = HTTPResponse(status: .found, headerFields: [.location: "https://map.test/"])
                    return HTTPDNSClient.Response(head: head, body: .bytes([]))
                }
            ]
        }
        let response = try await rig.client.get("https://one.test/")
        #expect(response.status.code == 302 && rig.wire.requests.count == 1)
        #expect(response.url == "https://two.test/new" && response.exchange?.endpoint == nil)
    }

    @Test("A hook's changed request is sent, and the address policy still judges it")
    func changes() async throws {
        for (url, code) in [
            ("https://map.test/x", nil), ("http://169.254.169.254/", HTTPDNSClientError.Code.policyRefused),
        ] {
            let rig = try Rig(wire: wire()) {
                $0.redirectHook = { redirect in
                    var next = redirect.next
                    next.url = url
                    next.headerFields[.authorization] = "meant"
                    return .change(next)
                }
            }
            let error = await clientError { try await rig.client.get("https://one.test/") }
            #expect(error?.code == code)
            guard code == nil else { continue }
            #expect(rig.wire.requests[1].url.description == url)
            #expect(rig.wire.requests[1].headerFields[.authorization] == "meant")
        }
    }

    @Test("A hook that always leads back ends at the limit")
    func endless() async throws {
        let rig = try Rig(wire: ScriptedWire { request, _ in .redirect(302, to: "/a", from: request) }) {
            $0.redirects.limit = 7
            $0.redirectHook = { .change($0.request) }
        }
        #expect(await clientError { try await rig.client.get("https://one.test/a") }?.code == .tooManyRedirects)
        #expect(rig.wire.requests.count == 8)
    }

    @Test("A hook's own error fails the call, and its text is not repeated")
    func fails() async throws {
        struct Nope: Error { let secret = "hunter2" }
        let rig = try Rig(wire: wire()) { $0.redirectHook = { _ in throw Nope() } }
        let error = await clientError { try await rig.client.post("https://one.test/", body: .text("x")) }
        #expect(error?.code == .interceptorFailed && error?.phase == .redirect && error?.underlying is Nope)
        #expect(error?.requestMayHaveBeenSent == true && error.map { "\($0)".contains("hunter2") } == false)
        let canceled = try Rig(wire: wire()) { $0.redirectHook = { _ in throw CancellationError() } }
        await #expect(throws: CancellationError.self) { try await canceled.client.get("https://one.test/") }
    }

    @Test("A hook runs in the caller's task")
    func callersTask() async throws {
        enum Local { @TaskLocal static var mark = 0 }
        let journal = Journal<String>()
        let rig = try Rig(wire: wire()) {
            $0.redirectHook = { _ in
                journal.write("\(Local.mark)")
                return .follow
            }
        }
        _ = try await Local.$mark.withValue(7) { try await rig.client.get("https://one.test/") }
        #expect(journal.all == ["7"])
    }

    /// Hops are numbered, and untagged after a redirect.
    @Test("Application interceptors see one call, and network interceptors each hop")
    func hops() async throws {
        let journal = Journal<String>()
        let wire = ScriptedWire { request, number in
            number < 2
                ? .redirect(302, to: number == 0 ? "https://two.test/" : "https://one.test/b", from: request)
                : .ok(from: request)
        }
        let rig = try Rig(wire: wire) { configuration in
            configuration.applicationInterceptors = [
                Around { request, context, next in
                    journal.write("call \(context.hop)")
                    return try await next(request, context)
                }
            ]
            configuration.networkInterceptors = [
                Around { request, context, next in
                    journal.write("hop \(context.hop) tagged \(context.tag != nil) \(request.url)")
                    return try await next(request, context)
                }
            ]
        }
        let tagged = try await rig.client.rewrite("https://one.test/")
        let response = try await rig.client.execute(tagged)
        #expect(response.exchanges.count == 3)
        #expect(
            journal.all == [
                "call 0", "hop 0 tagged true https://one.test/", "hop 1 tagged false https://two.test/",
                "hop 2 tagged false https://one.test/b",
            ]
        )
    }

    /// Interceptors make no difference.
    @Test("A failure behind a redirect says that a request may have been sent")
    func failsLater() async throws {
        for withInterceptor in [false, true] {
            let wire = ScriptedWire { request, number in
                guard number > 0 else { return .redirect(307, to: "/b", from: request) }
                throw TransferFailure(code: .connectFailed, phase: .connect, message: "refused")
            }
            let rig = try Rig(wire: wire) { configuration in
                if withInterceptor { configuration.networkInterceptors = [Around { try await $2($0, $1) }] }
            }
            let error = await clientError { try await rig.client.post("https://one.test/", body: .text("x")) }
            #expect(error?.code == .connectFailed && error?.requestMayHaveBeenSent == true)
        }
    }
}
