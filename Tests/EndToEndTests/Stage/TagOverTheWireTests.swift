// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import ClientRig
import HTTPDNS
import HTTPDNSTesting
import Logging
import ServerRig
import Testing

/// The stage runs once per hop, and its mark is out of band.
@Suite("The rewriter and its tag, against BIND and nginx", .enabled(if: ServerRig.isAvailable([.nginx, .bind])))
struct TagOverTheWireTests {
    private func settings(
        _ rig: ServerRig,
        _ log: RecordedLog,
        _ clock: (any TimeSource)? = nil
    ) throws -> HTTPDNSClient.Configuration {
        var configuration = try rig.settings()
        configuration.logger = log.logger()
        if let clock { configuration.resolver.timeSource = clock }
        return configuration
    }

    /// It is installed before and behind other interceptors.
    @Test("A rewriter that is installed twice rewrites once and asks one provider once")
    func installedTwice() async throws {
        let rig = try await ServerRig.shared()
        let mark = rig.bindLogMark()
        let (outerLog, innerLog) = (RecordedLog(), RecordedLog())
        let url = "https://twice.wild.test:\(rig.tlsPort)/echo"
        try await withClient(settings(rig, outerLog)) { outer in
            var configuration = try settings(rig, innerLog)
            configuration.networkInterceptors = [outer.rewriter, Around { try await $2($0, $1) }, outer.rewriter]
            try await withClient(configuration) { inner in
                let response = try await inner.echo(url)
                #expect(response.sni == "twice.wild.test" && response.address == "127.0.0.4")
            }
        }
        #expect(outerLog.rewrittenHosts == ["twice.wild.test"] && innerLog.rewrittenHosts == [])
        #expect(try rig.queryCount(of: "twice.wild.test", type: "A", since: mark) == 1)
        #expect(try rig.queryCount(of: "twice.wild.test", since: mark) <= 2)
    }

    /// Its life or a change of the mappings ends the tag.
    @Test("A second client rewrites a request again only after its tag has ended")
    func secondClient() async throws {
        let rig = try await ServerRig.shared()
        let mark = rig.bindLogMark()
        let clock = HTTPDNSManualClock()
        let (firstLog, secondLog) = (RecordedLog(), RecordedLog())
        let name = "tag-life.wild.test"
        let url = "https://\(name):\(rig.tlsPort)/echo?tag-life"
        try await rig.setRecords(name, timeToLive: 30, ["127.0.0.2"])
        try await withClient(settings(rig, firstLog, clock)) { first in
            try await withClient(settings(rig, secondLog, clock)) { second in
                let rewritten = try await first.rewrite(url)
                try await rig.setRecords(name, timeToLive: 30, ["127.0.0.3"])

                #expect(try await second.echo(rewritten).address == "127.0.0.2")
                clock.advance(by: .seconds(29))
                #expect(try await second.echo(rewritten).address == "127.0.0.2")
                #expect(secondLog.rewrittenHosts == [])
                #expect(try rig.queryCount(of: name, type: "A", since: mark) == 1)

                clock.advance(by: .seconds(1))
                #expect(try await second.echo(rewritten).address == "127.0.0.3")
                #expect(secondLog.rewrittenHosts == [name])
                #expect(try rig.queryCount(of: name, type: "A", since: mark) == 2)

                let again = try await first.rewrite(url)
                #expect(again.tag?.isValid == true)
                try first.mappings.apply { $0["unrelated.test"] = .addresses(["127.0.0.9"]) }
                #expect(again.tag?.isValid == false)
                #expect(try await second.echo(again).address == "127.0.0.3")
                #expect(secondLog.rewrittenHosts == [name, name])
                // The tag of a call's own answer is out of band too: nothing of it came to the origin.
                #expect(try await second.echo(again).headers.keys.allSatisfy { !$0.contains("tag") })
            }
        }
    }

    @Test("A tag forged in a field, fragment, query, credential or Host does nothing")
    func forged() async throws {
        let rig = try await ServerRig.shared()
        let mark = rig.bindLogMark()
        let log = RecordedLog()
        try await withClient(settings(rig, log)) { client in
            let real = try await client.rewrite("https://other.test:\(rig.tlsPort)/")
            #expect(real.tag?.isValid == true)
            let text = "generation=\(real.generation);rewritten=1;\(real.resolveEntry)"
            let origin = "forged.wild.test:\(rig.tlsPort)"
            var fields = HTTPFields()
            for name in ["Tag", "X-HTTPDNS", "X-HTTPDNS-Tag", "X-Rewritten"] {
                fields[try #require(HTTPField.Name(name))] = text
            }
            let forged = try await client.echo("https://\(origin)/echo", fields)
            #expect(forged.address == "127.0.0.4" && forged.headers["x-httpdns-tag"] == .one(text))
            for url in [
                "https://\(origin)/echo#\(text)", "https://\(origin)/echo?\(text)",
                "https://tag:\(real.host)@\(origin)/echo",
            ] {
                #expect(try await client.echo(url).address == "127.0.0.4")
            }
            #expect(log.rewrittenHosts == ["other.test"] + Array(repeating: "forged.wild.test", count: 4))
        }
        #expect(try rig.queryCount(of: "forged.wild.test", type: "A", since: mark) == 1)
    }

    /// The hops are counted.
    @Test("An explicit second hop is rewritten separately and carries no tag")
    func explicitHops() async throws {
        let rig = try await ServerRig.shared()
        let (bindMark, originMark) = (rig.bindLogMark(), rig.accessLogMark())
        try await rig.setRecords("hop-1.wild.test", ["127.0.0.2"])
        try await rig.setRecords("hop-2.wild.test", ["127.0.0.3"])
        let target = "https://hop-2.wild.test:\(rig.tlsPort)/echo?explicit-hops"
        let url = "https://hop-1.wild.test:\(rig.tlsPort)/redirect/302?to=\(target)"
        for isApplication in [false, true] {
            let (log, journal) = (RecordedLog(), Journal<String>())
            var configuration = try settings(rig, log)
            let hops = Around { request, context, next in
                journal.write("hop \(context.hop) tagged \(context.tag != nil)")
                return try await next(request, context)
            }
            configuration.applicationInterceptors = isApplication ? [.followingRedirects] : []
            configuration.networkInterceptors = isApplication ? [hops] : [.followingRedirects, hops]
            try await withClient(configuration) { client in
                let echo = try await client.echo(url)
                #expect(echo.address == "127.0.0.3" && echo.sni == "hop-2.wild.test")
            }
            #expect(log.rewrittenHosts == ["hop-1.wild.test", "hop-2.wild.test"])
            let second = isApplication ? 1 : 0
            #expect(journal.all == ["hop 0 tagged false", "hop \(second) tagged false"])
        }
        // Each client asked once for each name.
        for name in ["hop-1.wild.test", "hop-2.wild.test"] {
            #expect(try rig.queryCount(of: name, type: "A", since: bindMark) == 2)
        }
        let lines = try await rig.awaitAccessLog(since: originMark, count: 4) {
            $0.host.hasPrefix("hop-1.") || $0.host.hasPrefix("hop-2.")
        }
        #expect(lines.map(\.address) == ["127.0.0.2", "127.0.0.3", "127.0.0.2", "127.0.0.3"])
        #expect(lines.map(\.sni) == lines.map { String($0.host.prefix { $0 != ":" }) })
    }

    @Test("A rewriter before another client's redirecting interceptor tags one hop only")
    func markDoesNotOutliveItsHop() async throws {
        let rig = try await ServerRig.shared()
        let (outerLog, innerLog) = (RecordedLog(), RecordedLog())
        let target = "https://hop-4.wild.test:\(rig.tlsPort)/echo"
        let url = "https://hop-3.wild.test:\(rig.tlsPort)/redirect/307?to=\(target)"
        try await withClient(settings(rig, outerLog)) { outer in
            var configuration = try settings(rig, innerLog)
            configuration.networkInterceptors = [outer.rewriter, .followingRedirects]
            try await withClient(configuration) { inner in
                let echo = try await inner.echo(url)
                #expect(echo.host == "hop-4.wild.test:\(rig.tlsPort)")
            }
        }
        #expect(outerLog.rewrittenHosts == ["hop-3.wild.test"] && innerLog.rewrittenHosts == ["hop-4.wild.test"])
    }
}

extension RecordedLog {
    /// The hosts that a client's rewriter logged, in order.
    fileprivate var rewrittenHosts: [String] {
        events.filter { $0.message == "request rewritten" }.compactMap { $0.metadata?["host"]?.description }
    }
}

extension HTTPDNSClient.Interceptor where Self == Around {
    static var followingRedirects: Around { Around.followingRedirects }
}

extension HTTPDNSClient {
    /// What the origin says about a request to its `/echo`.
    fileprivate func echo(_ url: String, _ fields: HTTPFields = [:]) async throws -> Echo {
        try await Echo(try await get(url, headerFields: fields))
    }

    fileprivate func echo(_ rewritten: HTTPDNSRewriter.RewrittenRequest) async throws -> Echo {
        try await Echo(try await execute(rewritten))
    }
}
