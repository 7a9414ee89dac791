// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSCurl
import HTTPDNSTesting
import ServerRig
import Testing

/// What is not followed, and why.
struct RedirectLimitsTests {
    @Test("20 redirects are followed, the 21st is an error", arguments: [(20, true), (21, false)])
    func limit(redirects: Int, isFollowed: Bool) async throws {
        let wire = ScriptedWire { request, number in
            number < redirects ? .redirect(302, to: "/\(number)", from: request) : .ok(from: request)
        }
        let rig = try Rig(wire: wire)
        let error = await clientError { try await rig.client.post("https://one.test/", body: .text("x")) }
        #expect(error?.code == (isFollowed ? nil : .tooManyRedirects))
        #expect(rig.wire.requests.count == 21)
        guard let error else { return }
        #expect(error.phase == .redirect && error.host == "one.test" && error.requestMayHaveBeenSent)
        #expect(error.message.contains("one.test") && error.message.contains("20 redirects"))
    }

    @Test("Equal Location fields count as one, different ones are a protocol violation")
    func severalLocations() async throws {
        for (second, isFollowed) in [("/ok", true), ("/other", false)] {
            let wire = ScriptedWire { request, number in
                guard number == 0 else { return .ok(from: request) }
                var answer = HopAnswer.redirect(302, to: "/ok", from: request)
                answer.head.headerFields.append(HTTPField(name: .location, value: second))
                return answer
            }
            let rig = try Rig(wire: wire)
            let error = await clientError { try await rig.client.get("https://one.test/") }
            #expect(rig.wire.requests.count == (isFollowed ? 2 : 1))
            #expect(error?.code == (isFollowed ? nil : .protocolViolation), "\(String(describing: error))")
            guard let error else { continue }
            #expect(error.phase == .redirect && error.requestMayHaveBeenSent && !error.message.contains("/other"))
        }
    }

    @Test(
        "A Location leads to the resource that its bytes name",
        arguments: [
            ("/caf\u{e9}?x=\u{e4}", "https://one.test/caf%E9?x=%E4"),
            ("https://one.test/\u{ff}", "https://one.test/%FF"),
            ("b\u{c3}", "https://one.test/b%C3"), ("/\u{c3}\u{a9}\u{e9}", "https://one.test/%C3%A9%E9"),
            ("https://k\u{f6}ln.test/", nil),
        ]
    )
    func bytes(latin1: String, url: String?) async throws {
        let wire = ScriptedWire { request, number in
            guard number == 0 else { return .ok(from: request) }
            var answer = HopAnswer.redirect(302, to: "/", from: request)
            let bytes = latin1.unicodeScalars.map { UInt8($0.value) }
            answer.head.headerFields[fields: .location] = [HTTPField(name: .location, lenientValue: bytes)]
            return answer
        }
        let rig = try Rig(wire: wire)
        let error = await clientError { try await rig.client.get("https://one.test/") }
        #expect(error?.code == (url == nil ? .redirectRefused : nil))
        let targets = rig.wire.requests.dropFirst().map { $0.url.description.uppercased() }
        #expect(targets == (url.map { [$0.uppercased()] } ?? []))
    }

    @Test("A redirect to a request of the same call is a loop, whatever its fragment")
    func loop() async throws {
        let wire = ScriptedWire { request, number in
            .redirect(307, to: number.isMultiple(of: 2) ? "/b#x" : "https://ONE.test/a#y", from: request)
        }
        let rig = try Rig(wire: wire)
        let error = await clientError { try await rig.client.get("https://one.test/a") }
        #expect(error?.code == .redirectLoop && error?.phase == .redirect && error?.host == "one.test")
        #expect(rig.wire.requests.count == 2)
    }

    /// A proxy that gets names: its own address does not open the network to the servers behind it.
    @Test(
        "A redirect inside is refused although the proxy itself is inside",
        arguments: ["http://10.1.2.3/", "http://127.0.0.1:6379/"]
    )
    func insidePastAProxy(target: String) async throws {
        let wire = ScriptedWire(.redirect(302, to: target))
        let rig = try Rig(wire: wire) {
            $0.proxy = .through(
                try HTTPDNSClient.Proxy("http://127.0.0.1:3128"),
                except: try HTTPDNSClient.Proxy.Exceptions(["10.0.0.0/8", "127.0.0.1"])
            )
        }
        let error = await clientError { try await rig.client.get("http://one.test/") }
        #expect(error?.code == .policyRefused && rig.wire.requests.count == 1, "\(String(describing: error))")
    }

    @Test("Behind a proxy on a public address, a private server may redirect to itself")
    func samePrivateServer() async throws {
        let wire = ScriptedWire(.redirect(302, to: "/b"))
        let rig = try Rig(wire: wire) { $0.proxy = .through(try HTTPDNSClient.Proxy("http://203.0.113.200:3128")) }
        #expect(try await rig.client.get("http://10.0.0.5/a").status == .ok && rig.wire.requests.count == 2)
    }

    /// POST, 303, GET.
    @Test("The same URL by another method is no loop")
    func noLoop() async throws {
        let wire = ScriptedWire(.redirect(303, to: "/a"))
        let response = try await Rig(wire: wire).client.post("https://one.test/a", body: .text("x"))
        #expect(response.status == .ok)
    }

    @Test("A redirect from https to http is refused unless the policy allows it", arguments: [false, true])
    func downgrade(isAllowed: Bool) async throws {
        let wire = ScriptedWire(.redirect(301, to: "http://one.test/"))
        let rig = try Rig(wire: wire) { $0.redirects.allowsDowngrade = isAllowed }
        let error = await clientError { try await rig.client.get("https://one.test/") }
        #expect(error?.code == (isAllowed ? nil : .redirectRefused))
        #expect(rig.wire.requests.count == (isAllowed ? 2 : 1))
        if let error { #expect("\(error)".contains("https to http") && "\(error)".contains("downgrade")) }
    }

    @Test(
        "A Location that cannot be followed is an error that does not quote it",
        arguments: [
            "file:///etc/hunter2", "ftp://two.test/hunter2", "javascript:hunter2", "https://u:hunter2@two.test/",
            "\\\\two.test\\hunter2", "https://two.test:0/hunter2", "https://a..b/hunter2", "https://",
            "https://[hunter2]/",
        ]
    )
    func badLocation(location: String) async throws {
        let rig = try Rig(wire: ScriptedWire { request, _ in .redirect(302, to: location, from: request) })
        let error = await clientError { try await rig.client.get("https://one.test/") }
        #expect(error?.code == .redirectRefused || error?.code == .invalidURL, "\(location): \(error?.code as Any)")
        #expect(rig.wire.requests.count == 1 && error?.requestMayHaveBeenSent == true)
        #expect(error.map { "\($0)".contains("hunter2") } == false)
    }

    @Test("A streamed body that was read cannot be redirected, and an unread one can")
    func streams() async throws {
        for isRead in [true, false] {
            let wire = ScriptedWire { request, number in
                if isRead, case .stream(_, let chunks) = request.body {
                    var iterator = chunks.makeAsyncIterator()
                    _ = try await iterator.next(isolation: nil)
                }
                return number == 0 ? .redirect(307, to: "/new", from: request) : .ok(from: request)
            }
            let rig = try Rig(wire: wire)
            let body = HTTPDNSClient.Request.Body.stream(Chunks([Array("a".utf8)]))
            let error = await clientError { try await rig.client.post("https://one.test/", body: body) }
            #expect(error?.code == (isRead ? .redirectRefused : nil))
            #expect(rig.wire.requests.count == (isRead ? 1 : 2))
            if let error { #expect("\(error)".contains("stream") && "\(error)".contains("bytes")) }
        }
    }

    /// Link-local metadata, in the six spellings that filters have been known to miss.
    /// Nothing is connected to.
    @Test(
        "A redirect to the metadata address is a policy error in six spellings",
        arguments: [
            "http://169.254.169.254/latest/meta-data/", "http://2852039166/", "http://0xa9fea9fe/",
            "http://0251.0376.0251.0376/", "http://169.254.43518/", "http://[::ffff:169.254.169.254]/",
            "http://[::ffff:a9fe:a9fe]/", "//169.254.169.254/", "http://[64:ff9b::169.254.169.254]/",
            "http://[fe80::a9fe:a9fe]/", "http://metadata.sys.test/", "http://metadata.test/",
        ]
    )
    func metadata(location: String) async throws {
        let rig = try Rig(wire: ScriptedWire { request, _ in .redirect(302, to: location, from: request) }) {
            $0.resolver.routes.append(HTTPDNSRoute(try .init("metadata.sys.test"), .system))
            $0.resolver.mappings[try HTTPDNSMapping.Key("metadata.test")] = .addresses(["169.254.169.254"])
        }
        rig.system.answer(.success([HTTPDNSAddress(v4: 169, 254, 169, 254)]), for: try HTTPDNSName("metadata.sys.test"))
        let error = await clientError { try await rig.client.get("http://one.test/") }
        #expect(error?.code == .policyRefused && error?.phase == .policy, "\(location): \(error as Any)")
        #expect(rig.wire.requests.count == 1)
        #expect(error?.requestMayHaveBeenSent == true)
    }

    /// Private and loopback addresses, localhost, names of the system resolver.
    @Test(
        "A public server cannot redirect to inner addresses",
        arguments: [
            "http://10.0.0.1/", "http://127.0.0.1/", "http://localhost/", "http://[fd00::1]/", "http://sys.test/",
        ]
    )
    func inside(location: String) async throws {
        for isAllowed in [false, true] {
            let wire = ScriptedWire(.redirect(302, to: location))
            let rig = try Rig(wire: wire) {
                guard isAllowed else { return }
                $0.resolver.policy.allowed = try ["10.0.0.0/8", "127.0.0.0/8", "::1/128", "fd00::/8"]
                    .map { try #require(HTTPDNSAddressBlock($0)) }
            }
            rig.system.answer(.success([HTTPDNSAddress(v4: 10, 0, 0, 9)]), for: try HTTPDNSName("sys.test"))
            let error = await clientError { try await rig.client.get("http://8.8.8.8/") }
            #expect(error?.code == (isAllowed ? nil : .policyRefused), "\(location): \(error as Any)")
            #expect(rig.wire.requests.count == (isAllowed ? 2 : 1))
            // The caller's own word is another matter.
            #expect(await clientError { try await rig.client.get(location) } == nil)
        }
    }

    /// The system resolver's, in place of a provider's that refuse.
    @Test("A public server cannot redirect inside by the addresses of a fallback", arguments: [false, true])
    func insideByFallback(isAllowed: Bool) async throws {
        let wire = ScriptedWire { request, _ in
            let address = request.endpoints[0].address
            if address == HTTPDNSAddress(v4: 8, 8, 8, 8) {
                return .redirect(307, to: "http://one.test/", from: request)
            }
            guard address == HTTPDNSAddress(v4: 203, 0, 113, 1) else { return .ok(from: request) }
            throw TransferFailure(code: .connectFailed, phase: .connect, message: "refused")
        }
        // The fallback has the limit of the provider, which may answer private addresses: the redirect is what is refused.
        let rig = try Rig(wire: wire, timeToLive: .seconds(3600), answerScope: .private) {
            $0.resolver.routes = [HTTPDNSRoute(try .init("*.test"), .providers(["scripted"], fallback: .system))]
            if isAllowed { $0.resolver.policy.allowed = [try #require(HTTPDNSAddressBlock("10.0.0.0/8"))] }
        }
        let inside = HTTPDNSAddress(v4: 10, 0, 0, 5)
        rig.system.answer(.success([inside]), for: try HTTPDNSName("one.test"))
        func isRefused() async -> Bool {
            let before = rig.wire.requests.count
            let error = await clientError { try await rig.client.post("http://8.8.8.8/", body: .text("x")) }
            let addresses = rig.wire.requests.dropFirst(before).flatMap { $0.endpoints.map(\.address) }
            guard let error else { return addresses.last != inside }
            #expect(!addresses.contains(inside) && addresses.last == HTTPDNSAddress(v4: 203, 0, 113, 1))
            #expect(error.requestMayHaveBeenSent && error.message.contains("10.0.0.5"), "\(error)")
            return true
        }
        #expect(await isRefused() == !isAllowed)
        // The caller's own word is another matter: its next requests know the system path, and take it at once.
        #expect(try await rig.client.get("http://one.test/").exchanges.last?.remote.address == inside)
        #expect(await isRefused() == !isAllowed)
        #expect(try await rig.client.get("http://one.test/").exchanges.last?.remote.address == inside)
        #expect(rig.client.connectionCounters.fallbacks == 1)
        #expect(rig.client.connectionCounters.fallbacksShortCircuited == (isAllowed ? 3 : 1))
    }

    /// The address is kept from the caller's own requests.
    @Test("A public server cannot redirect inside by an address kept for the caller")
    func insideByHeldAddress() async throws {
        let wire = ScriptedWire { request, _ in
            request.endpoints[0].address == HTTPDNSAddress(v4: 8, 8, 8, 8)
                ? .redirect(302, to: "http://sys.test/", from: request) : .ok(from: request)
        }
        let rig = try Rig(wire: wire) {
            $0.resolver.cache.refreshesAhead = false
            $0.connections.addressStickiness = .seconds(120)
        }
        let (inside, outside) = (HTTPDNSAddress(v4: 10, 0, 0, 9), HTTPDNSAddress(v4: 203, 0, 113, 51))
        func own(after seconds: Int, known address: HTTPDNSAddress) async throws -> HTTPDNSClient.Exchange? {
            rig.system.answer(.success([address]), for: try HTTPDNSName("sys.test"))
            rig.clock.advance(by: .seconds(seconds))
            return try await rig.client.get("http://sys.test/").exchanges.last
        }
        // The system's answers live for 30 s: the name moves inside, and out again, and its last address is warm.
        _ = try await own(after: 0, known: HTTPDNSAddress(v4: 203, 0, 113, 50))
        _ = try await own(after: 28, known: HTTPDNSAddress(v4: 203, 0, 113, 50))
        #expect(try await own(after: 3, known: inside)?.remote.address == inside)
        _ = try await own(after: 26, known: inside)
        let held = try await own(after: 4, known: outside)
        #expect(held?.keptPreviousAddress == true && held?.remote.address == inside)
        let redirected = try await rig.client.get("http://8.8.8.8/").exchanges.last
        #expect(redirected?.keptPreviousAddress == false && redirected?.remote.address == outside)
        #expect(rig.wire.requests.last?.endpoints.map(\.address) == [outside])
    }

    @Test("An inner server may redirect to inner addresses, and any server to a mapped name")
    func samePrivacy() async throws {
        for (from, to) in [
            ("http://127.0.0.1/", "http://127.0.0.2/"), ("http://10.0.0.1/", "http://192.168.0.1/"),
            ("http://8.8.8.8/", "http://in.test/"),
        ] {
            let wire = ScriptedWire(.redirect(302, to: to))
            let rig = try Rig(wire: wire) {
                $0.resolver.mappings[try HTTPDNSMapping.Key("in.test")] = .addresses(["10.0.0.7"])
            }
            #expect(try await rig.client.get(from).status == .ok)
        }
    }
}
