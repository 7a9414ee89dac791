// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
import Foundation
import HTTPDNS
import Testing

@testable import resolve_test

struct DumpReportTests {
    /// A service with a quarantined provider, a stale answer, and a switched-off route, as its socket reports it.
    private static let text = """
        {"version":1,"library":"0.1.0","libcurl":"7.88.1",
        "libcurlCapabilities":{"tls":"OpenSSL/3.0.19","supportsTrustSettings":true,"http2":"nghttp2/1.52.0",
        "resolver":"threads","features":["HTTP2"],"protocols":["http","https"]},"uptimeSeconds":10800,
        "switch":{"isOn":true,"entries":[{"route":"*.old.example","origin":"socket","seconds":4}],"generation":3},
        "lastReload":{"isApplied":true,"seconds":720,"needsRestart":[]},
        "mappings":{"generation":2,"baseGeneration":1,"overlayGeneration":1,"count":2,"isTruncated":true,"rules":[
        {"key":"img.shop.example","action":"addresses","targets":["203.0.113.9"],"origin":"overlay"},
        {"key":"pay.shop.example","action":"last-resort","targets":["203.0.113.20"],"origin":"base",
        "location":"httpdns.yaml:8"}]},
        "cache":{"entries":2,"bytes":1240,"isTruncated":false,"answers":[
        {"host":"api.shop.example","addresses":["203.0.113.8","2001:db8::8"],"source":"provider","provider":"second",
        "ageSeconds":19,"secondsLeft":41,"isStale":false},
        {"host":"log.shop.example","addresses":["203.0.113.31"],"source":"provider","provider":"first",
        "ageSeconds":95,"secondsLeft":0,"isStale":true}]},
        "routes":[{"pattern":"*.shop.example","action":"providers","providers":["first","second"],"fallback":"system",
        "isEnabled":true,"mode":"use","fresh":812,"stale":3,"system":0,"failures":{},"location":"httpdns.yaml:6"}],
        "providers":[{"name":"first","kind":"doh","state":"quarantined","reason":"192.0.2.53:443: Connection refused",
        "backOffSeconds":6,"percentile95Seconds":0.009,"inFlight":0,"queued":0,"queries":131,"successes":128,
        "failures":3,"failuresByCode":{"unreachable":3}},
        {"name":"second","kind":"doh","state":"healthy","percentile95Seconds":0.012,"inFlight":0,"queued":0,"queries":6,
        "successes":6,"failures":0,"failuresByCode":{}}],
        "connections":{"open":1,"requestsInFlight":0,"requestsWaiting":0,"fallbacks":0,"fallbacksFailed":0,
        "fallbacksShortCircuited":0,"fallenBackHosts":0,"keptPreviousAddress":0},
        "pools":[{"host":"img.shop.example","port":443,"endpoint":"203.0.113.9:443","connections":1,"requests":57}],
        "endpoints":[{"endpoint":"198.51.100.9:443","host":"api.shop.example","state":"suspect","consecutiveFailures":2,
        "backOffSeconds":5}],
        "limits":{"cacheEntries":4096,"cacheBytes":8388608,"minimumTimeToLiveSeconds":0,"maximumTimeToLiveSeconds":3600,
        "staleSeconds":3600,"resolutionSeconds":3,"attemptSeconds":1,"idleConnections":1024,"requestsInFlight":16384},
        "counters":{"hits":806,"misses":9,"staleHits":3}}
        """

    static func status() throws -> HTTPDNSClient.Status {
        try JSONDecoder().decode(HTTPDNSClient.Status.self, from: Data(text.utf8))
    }

    @Test("The text of dump is that of its file")
    func golden() throws {
        try Golden.check("dump", DumpReport(diagnostics: try Self.status()).text)
    }
}
#endif
