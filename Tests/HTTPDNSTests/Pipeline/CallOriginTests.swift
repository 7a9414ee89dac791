// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSTesting
import ServerRig
import Testing

/// The origin of a call, as interceptors see it.
struct CallOriginTests {
    private static func noting(_ name: String, in journal: Journal<String>, sending url: String? = nil) -> Around {
        Around { request, context, next in
            journal.write("\(name) \(context.initialOrigin?.description ?? "-") \(context.isCrossOrigin)")
            var request = request
            if let url { request.url = url }
            return try await next(request, context)
        }
    }

    /// It is then that of what the application interceptors pass on.
    @Test("The initial origin is the caller's, and changes with application interceptors")
    func layers() async throws {
        let journal = Journal<String>()
        let rig = try Rig {
            $0.applicationInterceptors = [
                Self.noting("outer", in: journal, sending: "https://two.test/"), Self.noting("inner", in: journal),
            ]
            $0.networkInterceptors = [
                Self.noting("first", in: journal, sending: "https://TWO.test:443/b"),
                Self.noting("second", in: journal, sending: "https://two.test:8443/"),
                Self.noting("third", in: journal),
            ]
        }
        _ = try await rig.client.get("https://ONE.test:443/")
        #expect(
            journal.all == [
                "outer https://one.test false", "inner https://one.test true", "first https://two.test false",
                "second https://two.test false", "third https://two.test true",
            ]
        )
    }

    /// A hook changes the redirect.
    @Test("A changed redirect counts by the sent URL, and a retry stays where it led")
    func hookAndRetry() async throws {
        let journal = Journal<String>()
        let wire = ScriptedWire(.redirect(302, to: "https://two.test/"), .status(.serviceUnavailable))
        let rig = try Rig(wire: wire) {
            $0.networkInterceptors = [Self.noting("hop", in: journal)]
            $0.redirectHook = { redirect in
                var next = redirect.next
                next.url = "http://one.test/"
                return .change(next)
            }
            $0.redirects.allowsDowngrade = true
            $0.retries = .standard
            $0.retries.delay = .zero
        }
        #expect(try await rig.client.get("https://one.test/").status == .ok)
        #expect(
            journal.all == ["hop https://one.test false", "hop https://one.test true", "hop https://one.test true"]
        )
    }

    @Test("Origins are compared in canonical form, without a default port")
    func origins() {
        #expect(HTTPDNSClient.Origin("HTTPS://Bücher.test./a?b")?.description == "https://xn--bcher-kva.test")
        #expect(HTTPDNSClient.Origin("http://one.test:80/") == HTTPDNSClient.Origin("http://user:secret@ONE.test"))
        #expect(HTTPDNSClient.Origin("http://[::1]:8080/")?.description == "http://[::1]:8080")
        #expect(HTTPDNSClient.Origin("https://one.test") != HTTPDNSClient.Origin("http://one.test:443"))
        #expect(HTTPDNSClient.Origin("one.test") == nil && HTTPDNSClient.Origin("ftp://one.test/") == nil)
    }
}
