// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Glibc
import HTTPDNS
import HTTPDNSMonitor
import ServerRig

/// A program for tests of the traffic monitor that need a process of their own.
///
/// `write FOLDER FIRST`: makes calls whose URLs are numbered from FIRST on, with a file store in the folder, until it is killed.
/// It prints a number when the records up to it are written. After 200 records it waits: beside other tests the kill may come
/// late, and what is written meanwhile would be read by all processes after it.
///
/// `full FOLDER`: makes calls with a file store in the folder, while no file of the process may become longer than 64 KiB: writes
/// fail as on a full disk. Then the limit is lifted for one more call. It prints the good calls, the records that were written
/// and dropped at both times, and the number of warnings.
///
/// `report FILE`: makes ``SampleTraffic`` against real servers, and writes its report. `hostile FILE`: that of a server whose
/// texts are markup.
@main
struct MonitorProbe {
    static func main() async throws {
        let arguments = CommandLine.arguments
        if arguments.count == 3 {
            switch arguments[1] {
            case "report": return try await SampleTraffic.report(to: arguments[2])
            case "full": return try await FullDisk.run(in: arguments[2])
            case "hostile": return try await HostileTraffic.report(to: arguments[2])
            default: exit(64)
            }
        }
        guard arguments.count == 4, arguments[1] == "write", var number = Int(arguments[3]) else { exit(64) }
        var limits = HTTPDNSTrafficMonitor.FileStore.Limits()
        limits.bytes = .mebibytes(64)
        let files = try await HTTPDNSTrafficMonitor.FileStore.open(arguments[2], limits: limits)
        var settings = HTTPDNSTrafficMonitor.Settings()
        settings.files = files
        settings.responseBodyLimit = .kibibytes(8)
        let monitor = try HTTPDNSTrafficMonitor(settings)
        var configuration = HTTPDNSClient.Configuration()
        let body = Array(String(repeating: "body of a record ", count: 50).utf8)
        configuration.schemeHandlers["app"] = { _ in
            HTTPDNSClient.Response(head: HTTPResponse(status: .ok), body: .bytes(body))
        }
        let client = try await HTTPDNSClient(configuration: configuration)
        monitor.start(on: client)
        for _ in 0..<20 {
            for _ in 0..<10 {
                _ = try await client.get("app:\(number)").body.collect(upTo: .kibibytes(8))
                number += 1
            }
            await files.flush()
            print(number - 1)
            fflush(nil)
        }
        while true { pause() }
    }
}
