// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine && NIO && YAML
internal import Foundation
internal import HTTPDNSPrimitives

/// The messages to systemd about the state of this process (sd_notify(3)).
struct ServiceNotification: Sendable {
    private let address: UnixSocketAddress
    /// Whether systemd ends a process without signs of life (`WatchdogSec=`).
    let isWatched: Bool

    /// - Returns: Nil unless systemd started this process and waits for it (`Type=notify`).
    init?(_ environment: [String: String]) {
        guard let socket = environment["NOTIFY_SOCKET"],
            let address = socket.hasPrefix("@")
                ? UnixSocketAddress(abstractName: String(socket.dropFirst())) : UnixSocketAddress(path: socket)
        else { return nil }
        self.address = address
        isWatched = environment["WATCHDOG_USEC"] != nil
    }

    func send(_ state: String) {
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        guard (try? address.connect(descriptor)) != nil else { return }
        let bytes = Array(state.utf8)
        _ = Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }
}
#endif
