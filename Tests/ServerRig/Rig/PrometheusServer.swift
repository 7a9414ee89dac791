// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// Prometheus on a free port of 127.0.0.1. It scrapes one endpoint, and evaluates rules, every second.
public final class PrometheusServer: Sendable {
    /// The port of its API, on 127.0.0.1.
    public let port: UInt16
    private let process: GuardedProcess

    /// Starts the server.
    /// - Parameters:
    ///   - port: The port of the endpoint on 127.0.0.1, with the path `/metrics`.
    ///   - job: The value of the label `job`.
    ///   - rules: The path of a file of rules.
    /// - Throws: ``RigError`` with its output, when it does not start.
    public init(scraping port: UInt16, job: String, rules: String) async throws {
        let folder = try GuardedProcess.newFolder()
        self.port = try GuardedProcess.reservePort()
        let settings = """
            global: { scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s }
            rule_files: [ "\(rules)" ]
            scrape_configs:
              - job_name: \(job)
                static_configs: [ { targets: [ "127.0.0.1:\(port)" ] } ]
            """
        try FileDescriptor.write(settings, to: "\(folder)/prometheus.yml")
        process = try await GuardedProcess(
            "prometheus",
            [
                "--config.file=\(folder)/prometheus.yml", "--storage.tsdb.path=\(folder)/data", "--log.level=warn",
                "--web.listen-address=127.0.0.1:\(self.port)",
            ],
            folder: folder,
            port: self.port
        )
    }
}

extension ServerRig {
    /// Reserves a port on 127.0.0.1 for a server that a test starts itself, until this process ends.
    public static func reservePort() throws -> UInt16 { try GuardedProcess.reservePort() }
}
