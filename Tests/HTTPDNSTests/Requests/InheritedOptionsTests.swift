// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCurl
import HTTPDNSPrimitives
import HTTPDNSTesting
import HTTPTypes
import Testing

@testable import HTTPDNS

/// Settings that both a client and a request have.
@Suite("Inherited options")
struct InheritedOptionsTests {
    @Test("No option of a request is an Optional of a policy or limit")
    func types() {
        // With an Optional here, `options.redirects = .none` would compile and mean the client's policy.
        let _: WritableKeyPath<HTTPDNSClient.Request.Options, HTTPDNSClient.RedirectPolicy> = \.redirects
        let _: WritableKeyPath<HTTPDNSClient.Request.Options, HTTPDNSClient.RetryPolicy> = \.retries
        let _: WritableKeyPath<HTTPDNSClient.Request.Options, HTTPDNSClient.Proxy.Rules> = \.proxy
        let _: WritableKeyPath<HTTPDNSClient.Request.Options, HTTPDNSClient.AllowedVersions> = \.versions
        let _: WritableKeyPath<HTTPDNSClient.Request.Options, HTTPDNSClient.ByteLimit> = \.maximumResponseBody
        let _: WritableKeyPath<HTTPDNSClient.Request.Options, HTTPDNSClient.TimeLimit> = \.timeout
        let _: WritableKeyPath<HTTPDNSClient.Request.Options, HTTPDNSClient.Credential> = \.credential
        let optional = Mirror(reflecting: HTTPDNSClient.Request.Options()).children
            .filter { Mirror(reflecting: $0.value).displayStyle == .optional }.compactMap(\.label)
        // A request names these for itself: nil is none.
        #expect(
            Set(optional) == ["unixSocket", "families", "hostHeader", "rolloutKey"]
        )
    }

    @Test("A time limit of a request is the client's, none, or its own")
    func timeLimits() {
        for total in [Duration?.none, .seconds(60)] {
            #expect(HTTPDNSClient.TimeLimit.inherited.duration(inheriting: total) == total)
            #expect(HTTPDNSClient.TimeLimit.unlimited.duration(inheriting: total) == nil)
            #expect(HTTPDNSClient.TimeLimit.milliseconds(300).duration(inheriting: total) == .milliseconds(300))
            #expect(
                HTTPDNSClient.TimeLimit.seconds(0.5).duration(inheriting: total)
                    == HTTPDNSClient.TimeLimit(.milliseconds(500)).duration(inheriting: nil)
            )
        }
        #expect(HTTPDNSClient.Request.Options().timeout == .inherited)
    }

    @Test(
        "Any number of seconds is a time limit",
        arguments: [
            (.infinity, 10_000_000_000), (.greatestFiniteMagnitude, 10_000_000_000), (1e19, 10_000_000_000), (600, 600),
            (-.greatestFiniteMagnitude, 0), (-.infinity, 0), (.nan, 0), (.leastNonzeroMagnitude, 0),
        ] as [(Double, Int64)]
    )
    func anySeconds(seconds: Double, limit: Int64) async throws {
        let timeout = HTTPDNSClient.TimeLimit.seconds(seconds)
        #expect(timeout == .seconds(limit))
        guard limit > 0 else { return }
        let rig = try Rig(wire: ScriptedWire { request, _ in .ok(from: request) })
        #expect(try await rig.client.get("https://one.test/", timeout: timeout).status == .ok)
    }

    @Test(
        "The settings of a client refuse an inherited policy or limit",
        arguments: ["redirects", "retries", "proxy", "versions"]
    )
    func refused(name: String) async throws {
        var configuration = HTTPDNSClient.Configuration()
        switch name {
        case "redirects": configuration.redirects = .inherited
        case "retries": configuration.retries = .inherited
        case "proxy": configuration.proxy = .inherited
        default: configuration.versions = .inherited
        }
        let made = await clientError { [configuration] in try await HTTPDNSClient(configuration: configuration) }
        let rig = try Rig()
        let reloaded = await clientError { [configuration] in try await rig.client.reload(configuration) }
        for error in [made, reloaded] {
            #expect(error?.code == .configuration && error?.hint?.contains("options of a request") == true)
            #expect(error?.message.hasPrefix("\(name) is .inherited") == true, "\(error as Any)")
        }
    }

    @Test("A request's own choice wins, and an inherited one is the client's")
    func precedence() async throws {
        let rig = try Rig {
            $0.maximumResponseBody = .kibibytes(1)
            $0.versions = .http1Only
        }
        var request = HTTPDNSClient.Request(url: "https://one.test/")
        request.options.rolloutKey = "so that it has options of its own"
        _ = try await rig.client.execute(request)
        request.options.maximumResponseBody = .unlimited
        request.options.versions = .automatic
        _ = try await rig.client.execute(request)
        request.options.maximumResponseBody = .bytes(5)
        _ = try await rig.client.execute(request)
        #expect(rig.wire.requests.map(\.limits.maximumResponseBytes) == [1024, nil, 5])
        #expect(rig.wire.requests.map(\.versions) == [.http1Only, .automatic, .automatic])
    }

    @Test("An inherited policy is the client's, and with .off the first response counts")
    func policies() async throws {
        let wire = ScriptedWire { request, _ in
            request.url.target == "/old"
                ? .redirect(302, to: "/busy", from: request) : .ok(from: request, status: .badGateway)
        }
        let rig = try Rig(wire: wire) {
            $0.retries = .standard
            $0.retries.delay = .zero
            $0.retries.limit = 1
        }
        var request = HTTPDNSClient.Request(url: "https://one.test/old")
        request.options.rolloutKey = "so that it has options of its own"
        #expect(try await rig.client.execute(request).status == .badGateway && rig.wire.requests.count == 3)
        request.options.retries = .off
        #expect(try await rig.client.execute(request).status == .badGateway && rig.wire.requests.count == 5)
        request.options.redirects = .off
        #expect(try await rig.client.execute(request).status.code == 302 && rig.wire.requests.count == 6)
    }
}
