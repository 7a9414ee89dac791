// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSTrafficMonitor

/// A queue of messages, such as a program has.
protocol MessageQueue: Sendable {
    func publish(_ message: [UInt8], id: String) async throws
}

enum MonitoringTraffic {
    static func start(on client: HTTPDNSClient) -> HTTPDNSClient.TrafficMonitor {
        let monitor = HTTPDNSClient.TrafficMonitor()
        monitor.start(on: client)

        return monitor
    }

    static func read(_ monitor: HTTPDNSClient.TrafficMonitor, of client: HTTPDNSClient) {
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
    static func selective() throws -> HTTPDNSClient.TrafficMonitor {
        var settings = HTTPDNSClient.TrafficMonitor.Settings()
        settings.includes = .host("*.shop.example")
        settings.excludes = .path("/health")
        settings.sampling = HTTPDNSClient.TrafficMonitor.Sampling(share: 0.1, seed: 7)

        settings.redaction.names.formUnion(["X-Customer", "*number"])
        settings.withholdsBodies = .path(prefix: "/private/")

        settings.edit = { record in
            record.responseBody = nil
            return !record.url.contains("/invoices/")
        }

        settings.requestBodyLimit = .kibibytes(64)
        settings.responseBodyLimit = .kibibytes(64)
        return try HTTPDNSClient.TrafficMonitor(settings)
    }

    /// A monitor whose records survive the process.
    static func lasting() async throws -> HTTPDNSClient.TrafficMonitor {
        var settings = HTTPDNSClient.TrafficMonitor.Settings()

        let files = try await HTTPDNSClient.TrafficMonitor.FileStore.open("/var/lib/app/traffic")
        settings.files = files

        return try HTTPDNSClient.TrafficMonitor(settings)
    }

    /// Monitors whose records go to a collector and to a queue.
    static func exporting(
        through client: HTTPDNSClient,
        to queue: some MessageQueue
    ) throws -> [HTTPDNSClient.TrafficMonitor.Settings] {
        var settings = HTTPDNSClient.TrafficMonitor.Settings()
        var other = settings

        settings.exporter = try HTTPDNSClient.TrafficMonitor.Exporter(
            to: "https://collector.example/traffic",
            through: client
        )

        other.exporter = HTTPDNSClient.TrafficMonitor.Exporter { batch in
            try await queue.publish(batch.lines, id: batch.id)
        }
        return [settings, other]
    }

    /// Writes the newest records of the files as a HAR file.
    static func export(_ files: HTTPDNSClient.TrafficMonitor.FileStore) async throws {
        let newest = try await files.records(newest: 1000)
        try await HTTPDNSClient.TrafficMonitor.Archive(newest).write(to: "traffic.har")
    }

    /// Writes the records in memory as a web page.
    static func report(_ monitor: HTTPDNSClient.TrafficMonitor) async throws {
        try await monitor.writeReport(to: "traffic.html")
    }
}
