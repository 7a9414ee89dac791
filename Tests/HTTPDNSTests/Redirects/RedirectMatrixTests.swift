// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSCurl
import HTTPDNSTesting
import Testing

/// RFC 9110 section 15.4.
struct RedirectMatrixTests {
    /// What is sent to the target: the method, and whether the body goes along; nil when the 3xx is the response.
    static func expected(_ status: Int, _ method: HTTPRequest.Method) -> (method: HTTPRequest.Method, hasBody: Bool)? {
        let hasBody = RedirectMatrixTests.methodsWithBody.contains(method)
        switch status {
        case 301, 302: return method == .post ? (.get, false) : (method, hasBody)
        case 303: return (method == .head ? .head : .get, false)
        case 307, 308: return (method, hasBody)
        default: return nil
        }
    }

    static let methodsWithBody: Set<HTTPRequest.Method> = [.post, .put, .patch, .delete]
    static let cases = [300, 301, 302, 303, 304, 305, 306, 307, 308].flatMap { status in
        [HTTPRequest.Method.get, .head, .options, .post, .put, .patch, .delete].map { (status, $0) }
    }

    /// Nine codes times seven methods.
    @Test("The method and body of a redirect follow RFC 9110's table", arguments: cases)
    func matrix(status: Int, method: HTTPRequest.Method) async throws {
        let wire = ScriptedWire(.redirect(status, to: "https://two.test/new"))
        let rig = try Rig(wire: wire)
        let hasBody = Self.methodsWithBody.contains(method)
        let response = try await rig.client.execute(
            HTTPDNSClient.Request(
                method: method,
                url: "https://one.test/old",
                headerFields: hasBody ? [.contentType: "text/plain", .contentLanguage: "en", .accept: "*/*"] : [:],
                body: hasBody ? .text("the body") : .none
            )
        )
        guard let expected = Self.expected(status, method) else {
            #expect(response.status.code == status && rig.wire.requests.count == 1 && response.exchanges.count == 1)
            return
        }
        #expect(response.status == .ok && rig.wire.requests.count == 2)
        let sent = rig.wire.requests[1]
        #expect(sent.method == expected.method && sent.url.description == "https://two.test/new")
        if case .bytes(let bytes) = sent.body {
            #expect(expected.hasBody && bytes == Array("the body".utf8))
        } else {
            #expect(!expected.hasBody)
        }
        // What describes a body goes with it, and nothing else does.
        #expect(sent.headerFields.contains(.contentType) == expected.hasBody)
        #expect(sent.headerFields.contains(.contentLanguage) == expected.hasBody)
        #expect(sent.headerFields.contains(.accept) == hasBody)
        // Each hop went through the stage: canonicalized, resolved, pinned.
        #expect(sent.endpoints.map(\.description) == ["203.0.113.2:443"])
        #expect(response.exchanges.map(\.status.code) == [status, 200])
        #expect(response.exchanges.map { $0.request.canonicalURL } == ["https://one.test/old", "https://two.test/new"])
    }

    @Test("A 3xx without a Location is the response")
    func noLocation() async throws {
        for fields: HTTPFields in [[:], [.location: ""]] {
            let rig = try Rig(wire: ScriptedWire { request, _ in .redirect(302, fields: fields, from: request) })
            let response = try await rig.client.get("https://one.test/")
            #expect(response.status.code == 302 && rig.wire.requests.count == 1)
            #expect(try await response.body.collect(upTo: .bytes(5)) == Array("hello".utf8))
        }
    }

    /// The client or the request forbids redirects.
    @Test("Without redirects the 3xx is the response, with its body")
    func notFollowed() async throws {
        let wire = ScriptedWire { request, _ in .redirect(302, to: "/new", from: request) }
        let rig = try Rig(wire: wire) { $0.redirects = .off }
        let other = try Rig(wire: ScriptedWire { request, _ in .redirect(302, to: "/new", from: request) })
        var request = HTTPDNSClient.Request(url: "https://one.test/")
        let first = try await rig.client.execute(request)
        request.changeOptions { $0.redirects = .off }
        let second = try await other.client.execute(request)
        for response in [first, second] {
            #expect(response.status.code == 302 && response.headerFields[.location] == "/new")
            #expect(try await response.body.collect(upTo: .bytes(5)) == Array("hello".utf8))
        }
        #expect(rig.wire.requests.count == 1 && other.wire.requests.count == 1)
    }

    @Test("Relative targets are read against the URL that answered, hop by hop")
    func relative() async throws {
        let places = ["../b/c", "?d", "//two.test/e", "f"]
        let wire = ScriptedWire(places.map { .redirect(302, to: $0) })
        let rig = try Rig(wire: wire)
        let response = try await rig.client.get("http://one.test/a/x#part")
        #expect(
            rig.wire.requests.map(\.url.description) == [
                "http://one.test/a/x", "http://one.test/b/c", "http://one.test/b/c?d", "http://two.test/e",
                "http://two.test/f",
            ]
        )
        #expect(response.exchanges.last?.request.originalURL == "http://two.test/f#part")
        // One deadline for all of it.
        #expect(Set(rig.wire.requests.map(\.limits.deadline)).count == 1)
        #expect(rig.provider.queries.count == 2)
    }
}

extension HopAnswer {
    static func redirect(
        _ status: Int,
        to place: String? = nil,
        fields: HTTPFields = [:],
        from request: TransferRequest
    ) -> HopAnswer {
        var answer = HopAnswer.ok(from: request, status: HTTPResponse.Status(code: status), fields: fields)
        if let place { answer.head.headerFields[.location] = place }
        return answer
    }
}
