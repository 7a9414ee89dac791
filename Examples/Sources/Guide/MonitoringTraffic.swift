// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSMonitor

/// A queue of messages, such as a program has.
protocol MessageQueue: Sendable {
    func publish(_ message: [UInt8], id: String) async throws
}

enum MonitoringTraffic {
    static func start(on client: HTTPDNSClient) -> HTTPDNSTrafficMonitor {
        let monitor = HTTPDNSTrafficMonitor()
        monitor.start(on: client)

        return monitor
    }

    static func read(_ monitor: HTTPDNSTrafficMonitor, of client: HTTPDNSClient) {
        for record in monitor.records where record.outcome == "failed" {
            print(record)
            for hop in record.hops { print(hop.url, hop.addresses.source ?? "-", hop.addresses.endpoint ?? "-") }
        }

        for (host, traffic) in monitor.counters.hosts {
            print("\(host): \(traffic.requests) requests, \(traffic.failureRate * 100) % failed")
        }

        monitor.stop(on: client)
    }

    /// A monitor of one part of the traffic, with the errors and a tenth of all other calls.
    static func selective() throws -> HTTPDNSTrafficMonitor {
        var settings = HTTPDNSTrafficMonitor.Settings()
        settings.includes = .host("*.shop.example")
        settings.excludes = .path("/health")
        settings.sampling = HTTPDNSTrafficMonitor.Sampling(share: 0.1, seed: 7)

        settings.redaction.names.formUnion(["X-Customer", "*number"])
        settings.withholdsBodies = .path(prefix: "/private/")

        settings.edit = { record in
            record.responseBody = nil
            return !record.url.contains("/invoices/")
        }

        settings.requestBodyLimit = .kibibytes(64)
        settings.responseBodyLimit = .kibibytes(64)
        return try HTTPDNSTrafficMonitor(settings)
    }

    /// A monitor whose records survive the process.
    static func lasting() async throws -> HTTPDNSTrafficMonitor {
        var settings = HTTPDNSTrafficMonitor.Settings()

        let files = try await HTTPDNSTrafficMonitor.FileStore.open("/var/lib/app/traffic")
        settings.files = files

        return try HTTPDNSTrafficMonitor(settings)
    }

    /// Monitors whose records go to a collector and to a queue.
    static func exporting(
        through client: HTTPDNSClient,
        to queue: some MessageQueue
    ) throws -> [HTTPDNSTrafficMonitor.Settings] {
        var settings = HTTPDNSTrafficMonitor.Settings()
        var other = settings

        settings.exporter = try HTTPDNSTrafficMonitor.Exporter(
            to: "https://collector.example/traffic",
            through: client
        )

        other.exporter = HTTPDNSTrafficMonitor.Exporter { batch in
            try await queue.publish(batch.lines, id: batch.id)
        }
        return [settings, other]
    }

    /// Writes the newest records of the files as a HAR file.
    static func export(_ files: HTTPDNSTrafficMonitor.FileStore) async throws {
        let newest = try await files.records(newest: 1000)
        try await HTTPDNSTrafficMonitor.Archive(newest).write(to: "traffic.har")
    }

    /// Writes the records in memory as a web page.
    static func report(_ monitor: HTTPDNSTrafficMonitor) async throws {
        try await monitor.writeReport(to: "traffic.html")
    }
}
