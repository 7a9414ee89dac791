// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSCurl
import ServerRig
import Testing

@testable import HTTPDNSResponseCache

struct UpdateTests {
    private static let stored = ["cache-control": "max-age=60", "etag": "\"1\"", "last-modified": lastModified]
    private static let lastModified = "Sun, 06 Nov 1994 08:00:00 GMT"
    private static let arrival = "Sun, 06 Nov 1994 08:49:37 GMT"

    /// A server that answers conditional requests and HEAD with one response, and others with a body and fields.
    private static func origin(_ answer: Scripted, stored fields: [String: String] = stored) -> ScriptedWire {
        ScriptedWire { request, number in
            let isAsked = request.headerFields.contains(.ifNoneMatch) || request.method == .head
            return (isAsked ? answer : Scripted("v\(number)", fields)).answer(to: request)
        }
    }

    @Test(
        "A 304 response keeps, changes or ends the stored response by its own directives",
        arguments: [
            ("max-age=600", "hit v0"), ("max-age=0", "validated v0"), ("no-store", "miss v2"),
            ("private, max-age=600", "miss v2"), ("no-cache", "validated v0"),
        ]
    )
    func notModified(_ control: String, _ then: String) async throws {
        let client = try await CachedClient(
            Self.origin(Scripted("", status: .notModified, ["cache-control": control]))
        )
        _ = try await client.get()
        client.time.move(seconds: 61)
        #expect(texts([try await client.get()]) == ["validated v0"])
        client.time.move(seconds: 1)
        #expect(texts([try await client.get()]) == [then])
    }

    /// What a 304 response does not say stays as it was. A cookie is not for the next reader.
    @Test(
        "A 304 response renews the shared response to a token unless it has a cookie",
        arguments: [
            ([:], "hit v0"), (["set-cookie": "a=1"], "validated v0"), (["cache-control": "max-age=60"], "validated v0"),
        ] as [([String: String], String)]
    )
    func sharedByToken(_ fields: [String: String], _ then: String) async throws {
        let stored = ["cache-control": "public, max-age=60", "etag": "\"1\""]
        let client = try await CachedClient(Self.origin(Scripted("", status: .notModified, fields), stored: stored))
        let token = ["authorization": "Bearer alice"]
        _ = try await client.get(fields: token)
        client.time.move(seconds: 61)
        #expect(texts([try await client.get(fields: token)]) == ["validated v0"])
        client.time.move(seconds: 1)
        #expect(texts([try await client.get(fields: token)]) == [then])
    }

    @Test("A slow response to an older request does not replace a newer one")
    func slow() async throws {
        let (origin, arrived, gate) = ScriptedWire.holding(0, Self.stored)
        let client = try await CachedClient(origin)
        let slow = Task { try await client.get() }
        await arrived.passage()
        client.time.move(seconds: 1)
        #expect(texts([try await client.get { $0.cache.policy = .doNotRead }]) == ["miss v1"])
        gate.open()
        #expect(texts([try await slow.value]) == ["miss v0"])
        #expect(texts([try await client.get()]) == ["hit v1"])
        #expect(client.cache.counters.stored == 1)
    }

    @Test(
        "A response to HEAD renews the stored response, or ends one of another version",
        arguments: [
            (["etag": "\"1\"", "cache-control": "max-age=600"], "hit v0"),
            (["etag": "\"2\"", "cache-control": "max-age=600"], "miss v2"),
            (["last-modified": "Sun, 06 Nov 1994 08:00:01 GMT", "cache-control": "max-age=600"], "miss v2"),
            (["content-length": "7", "cache-control": "max-age=600"], "miss v2"),
            (["content-length": "2", "cache-control": "max-age=600"], "hit v0"),
            (["etag": "\"1\"", "cache-control": "no-store"], "miss v2"),
        ]
    )
    func head(_ fields: [String: String], _ then: String) async throws {
        var stored = Self.stored
        stored["content-length"] = "2"
        let client = try await CachedClient(Self.origin(Scripted("", fields), stored: stored))
        _ = try await client.get()
        client.time.move(seconds: 61)
        #expect(try await client.get(method: .head).status == 200)
        client.time.move(seconds: 1)
        #expect(texts([try await client.get()]) == [then])
    }

    /// What was stored, the fields of the answer to HEAD, and the next response (RFC 9111 section 4.3.5).
    @Test(
        "A response to HEAD ends a stored response that lacks its validator or length",
        arguments: [
            ([:], ["etag": "\"2\""], "miss v2"), ([:], ["last-modified": lastModified], "miss v2"),
            ([:], ["content-length": "3"], "miss v2"), ([:], ["content-length": "2"], "hit v0"), ([:], [:], "hit v0"),
            (["etag": "\"1\""], ["last-modified": lastModified], "miss v2"),
            (["etag": "\"1\""], ["etag": "\"1\"", "last-modified": lastModified], "miss v2"),
            (["etag": "\"1\""], ["etag": "W/\"1\""], "miss v2"), (["etag": "\"1\""], ["etag": "\"1\""], "hit v0"),
            (["etag": "\"1\""], ["etag": "\"1\"|\"2\""], "miss v2"),
            (["etag": "\"1\""], ["etag": "\"1\"|\"1\""], "hit v0"),
            (["etag": "\"1\""], ["etag": "\"1\"", "content-length": "3"], "miss v2"),
            (["last-modified": lastModified], ["etag": "\"2\"", "last-modified": lastModified], "miss v2"),
        ] as [([String: String], [String: String], String)]
    )
    func headOfOtherVersion(_ stored: [String: String], _ fields: [String: String], _ then: String) async throws {
        let answer = Scripted("", fields.merging(["cache-control": "max-age=600"]) { own, _ in own })
        let origin = ScriptedWire { request, number in
            let old = Scripted("v\(number)", stored.merging(["cache-control": "max-age=60"]) { own, _ in own })
            return (request.method == .head ? answer : old).answer(to: request)
        }
        let client = try await CachedClient(origin)
        _ = try await client.get()
        client.time.move(seconds: 61)
        #expect(try await client.get(method: .head).status == 200)
        #expect(texts([try await client.get()]) == [then])
    }

    /// What was stored, the validators of the 304 response, and whether it is about the stored response (RFC 9111 section 4.3.4).
    /// A date is a strong validator when the response was made at least a second later.
    @Test(
        "A 304 response with a validator that the stored response lacks ends it",
        arguments: [
            (["last-modified": lastModified], ["etag": "\"2\""], false),
            (["last-modified": lastModified], ["etag": "\"2\"", "last-modified": lastModified], false),
            (
                ["last-modified": lastModified, "date": arrival], ["etag": "\"2\"", "last-modified": lastModified],
                false
            ),
            (["last-modified": lastModified], ["etag": "W/\"2\""], false),
            (["last-modified": lastModified], ["last-modified": lastModified], true),
            (["last-modified": lastModified], ["last-modified": arrival], false),
            (["last-modified": lastModified], ["last-modified": "\(lastModified)|\(lastModified)"], true),
            (["last-modified": lastModified], ["last-modified": "\(lastModified)|\(arrival)"], false),
            (["etag": "\"1\""], ["etag": "\"2\""], false), (["etag": "\"1\""], ["etag": "\"1\"|\"2\""], false),
            (["etag": "\"1\""], ["last-modified": lastModified], false),
            (["etag": "\"1\""], ["etag": "\"1\"", "last-modified": lastModified], true),
            (["etag": "\"1\""], ["etag": "W/\"1\""], true), (["etag": "\"1\""], [:], true),
            (["etag": "W/\"1\""], ["etag": "W/\"1\""], true), (["etag": "W/\"1\""], ["etag": "\"1\""], false),
            (["etag": "W/\"1\""], ["etag": "W/\"2\""], false),
            (
                ["etag": "W/\"1\"", "last-modified": arrival, "date": arrival],
                ["etag": "\"1\"", "last-modified": arrival], false
            ),
            (
                ["etag": "W/\"1\"", "last-modified": lastModified, "date": arrival],
                ["etag": "\"1\"", "last-modified": lastModified], true
            ),
        ] as [([String: String], [String: String], Bool)]
    )
    func notModifiedOfOtherVersion(_ stored: [String: String], _ fields: [String: String], _ isSame: Bool) async throws
    {
        let control = ["cache-control": "max-age=60"]
        let origin = ScriptedWire { request, number in
            let kinds = FieldKinds(request.headerFields)
            return kinds.contains(.condition)
                ? Scripted("", status: .notModified, fields.merging(control) { own, _ in own }).answer(to: request)
                : Scripted("v\(number)", stored.merging(control) { own, _ in own }).answer(to: request)
        }
        let client = try await CachedClient(origin)
        _ = try await client.get()
        client.time.move(seconds: 61)
        let reply = try await client.get()
        #expect(texts([reply]) == [isSame ? "validated v0" : "miss v2"])
        // The tag is that of the stored bytes: a strong one would answer If-Range.
        #expect(reply.fields[.eTag] == stored["etag"])
    }

    @Test("A Vary field that a 304 response brings holds for the stored response")
    func varyOfNotModified() async throws {
        let fields = ["cache-control": "max-age=60", "vary": "Accept-Language"]
        let client = try await CachedClient(Self.origin(Scripted("", status: .notModified, fields)))
        let german = ["accept-language": "de"]
        #expect(texts([try await client.get(fields: german)]) == ["miss v0"])
        client.time.move(seconds: 61)
        #expect(texts([try await client.get(fields: german)]) == ["validated v0"])
        #expect(texts([try await client.get(fields: ["accept-language": "en"])]) == ["miss v2"])
        #expect(texts([try await client.get(fields: german)]) == ["hit v0"])
    }

    @Test("A 304 response with Vary: * ends the stored response")
    func varyOfAll() async throws {
        let fields = ["cache-control": "max-age=60", "vary": "*"]
        let client = try await CachedClient(Self.origin(Scripted("", status: .notModified, fields)))
        _ = try await client.get()
        client.time.move(seconds: 61)
        #expect(texts([try await client.get(), try await client.get()]) == ["validated v0", "miss v2"])
    }

    /// They answer a field that the stored response's next reader does not send.
    @Test("An answer to a field of one request leaves the stored response", arguments: [401, 407, 412, 416, 417])
    func answersOneRequest(_ status: Int) async throws {
        let origin = ScriptedWire { request, number in
            guard request.headerFields.contains(.expect) else { return Scripted("v0", Self.stored).answer(to: request) }
            return Scripted("refused", status: HTTPResponse.Status(code: status)).answer(to: request)
        }
        let client = try await CachedClient(origin)
        _ = try await client.get()
        let refused = try await client.get(fields: ["expect": "100-continue", "cache-control": "no-cache"])
        #expect(refused.status == status)
        #expect(texts([try await client.get()]) == ["hit v0"])
    }

    @Test("A newer response that may not be stored ends the stored one")
    func outdated() async throws {
        let client = try await CachedClient(
            ScriptedWire([Scripted("one", Self.stored), Scripted("two", ["cache-control": "no-store"])])
        )
        _ = try await client.get()
        #expect(texts([try await client.get { $0.cache.policy = .alwaysRevalidate }]) == ["miss two"])
        #expect(client.cache.entryCount == 0)
    }

    @Test("A response whose request was sent before a change of its resource is not stored")
    func overtaken() async throws {
        for isFile in [false, true] {
            let (arrived, gate) = (Gate(), Gate())
            let origin = ScriptedWire { request, number in
                guard number == 0 else { return Scripted("new", Self.stored).answer(to: request) }
                arrived.open()
                await gate.passage()
                return Scripted("old", Self.stored).answer(to: request)
            }
            let folder = try TemporaryFolder()
            let client = try await CachedClient(origin, folder: isFile ? folder.path("cache") : nil)
            let early = Task { try await client.get() }
            await arrived.passage()
            _ = try await client.get(method: .put)
            gate.open()
            #expect(texts([try await early.value]) == ["miss old"])
            #expect(client.cache.entryCount == 0)
            #expect(texts([try await client.get(), try await client.get()]) == ["miss new", "hit new"])
        }
    }

    @Test("A response that is being received when all are removed is not stored")
    func removedMeanwhile() async throws {
        let (arrived, gate) = (Gate(), Gate())
        let origin = ScriptedWire { request, _ in
            arrived.open()
            await gate.passage()
            return Scripted("old", Self.stored).answer(to: request)
        }
        let client = try await CachedClient(origin)
        let early = Task { try await client.get() }
        await arrived.passage()
        await client.cache.removeAll()
        gate.open()
        _ = try await early.value
        #expect(client.cache.entryCount == 0)
    }

    private static func adding(_ name: HTTPField.Name) -> Around { .before { $0.headerFields[name] = "added" } }

    /// The key and the rules were made without the field.
    @Test(
        "A response is not stored when an interceptor added a field of its key",
        arguments: [("authorization", ""), ("cookie", ""), ("x-group", "X-Group"), ("x-group", "")]
    )
    func intercepted(_ name: String, _ vary: String) async throws {
        var fields = Self.stored
        if !vary.isEmpty { fields["vary"] = vary }
        let field = try #require(HTTPField.Name(name))
        let client = try await CachedClient(Self.origin(Scripted("", status: .notModified, fields), stored: fields)) {
            $0.mode = .private
        } client: {
            $0.networkInterceptors = [Self.adding(field)]
        }
        let replies = [try await client.get(), try await client.get()]
        let isStored = name == "x-group" && vary.isEmpty
        #expect(texts(replies) == (isStored ? ["miss v0", "hit v0"] : ["miss v0", "miss v1"]))
    }

    /// Its Location is relative to the URL that answered, which a hit does not know.
    @Test("A redirect of another URL than that of its request is not stored")
    func movedRedirect() async throws {
        let origin = ScriptedWire { request, _ in
            guard request.url.target == "/page" else { return Scripted(request.url.description).answer(to: request) }
            let fields = ["location": "/x", "cache-control": "max-age=60"]
            return Scripted("", status: .movedPermanently, fields).answer(to: request)
        }
        let client = try await CachedClient(origin) { _ in
        } client: {
            $0.networkInterceptors = [
                .before { $0.url.replace("http://one.test/page", with: "http://two.test/page") } as Around
            ]
        }
        for _ in 0..<2 { #expect(try await client.get().body == "http://two.test/x") }
        #expect(client.cache.entryCount == 0)
        // That of its own URL is.
        let plain = try await CachedClient(origin)
        for _ in 0..<2 { #expect(try await plain.get().body == "http://one.test/x") }
        #expect(plain.cache.entryCount == 1)
    }

    @Test("A validation with a credential of an interceptor renews no stored response")
    func interceptedValidation() async throws {
        let fields = ["cache-control": "max-age=600"]
        let client = try await CachedClient(Self.origin(Scripted("", status: .notModified, fields)))
        _ = try await client.get()
        client.time.move(seconds: 61)
        let own = try await client.get { $0.networkInterceptors = [Self.adding(.authorization)] }
        #expect(texts([own]) == ["validated v0"])
        #expect(texts([try await client.get()]) == ["validated v0"])
        #expect(texts([try await client.get()]) == ["hit v0"])
    }
}
