// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Glibc
import HTTPDNS
import HTTPDNSMonitor
import ServerRig

/// A file store whose disk becomes full, see ``MonitorProbe``.
enum FullDisk {
    private static let limit: rlim_t = 64 << 10

    static func run(in folder: String) async throws {
        // Otherwise a write beyond the limit ends the process.
        signal(SIGXFSZ, SIG_IGN)
        let log = RecordedLog()
        let files = try await HTTPDNSTrafficMonitor.FileStore.open(folder, logger: log.logger())
        var settings = HTTPDNSTrafficMonitor.Settings()
        settings.files = files
        let monitor = try HTTPDNSTrafficMonitor(settings)
        var configuration = HTTPDNSClient.Configuration()
        configuration.schemeHandlers["app"] = { _ in
            HTTPDNSClient.Response(head: HTTPResponse(status: .ok), body: .bytes([1]))
        }
        let client = try await HTTPDNSClient(configuration: configuration)
        monitor.start(on: client)
        setLimit(limit)
        var good = 0
        for number in 0..<500 {
            let body = try? await client.get("app:\(number)").body.collect(upTo: .kibibytes(1))
            good += body == [1] ? 1 : 0
            // Writes of single records, so that some fit.
            if number.isMultiple(of: 10) { await files.flush() }
        }
        await files.flush()
        let full = files.counters
        setLimit(rlim_t.max)
        _ = try await client.get("app:last").body.collect(upTo: .kibibytes(1))
        await files.flush()
        let newest = try await files.records(newest: 1).map(\.url)
        let warnings = log.messages.filter { $0 == "traffic records cannot be written" }.count
        print(good, full.written, full.dropped, files.counters.written, files.recordCount, newest[0], warnings)
        try await client.shutdown()
    }

    private static func setLimit(_ bytes: rlim_t) {
        let resource = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
        var limit = rlimit()
        getrlimit(resource, &limit)
        limit.rlim_cur = min(bytes, limit.rlim_max)
        setrlimit(resource, &limit)
    }
}
