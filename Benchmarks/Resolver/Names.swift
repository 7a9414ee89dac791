// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore

/// The names that are looked up. Each thread has texts of its own, as each request has: a shared text would make threads
/// wait for its reference count, whatever they look it up in.
struct Names: Sendable {
    enum Choice: String, CaseIterable, Sendable {
        /// 1,024 names, in a scattered order that differs from thread to thread.
        case mixed
        /// One name.
        case hot
    }

    static let count = 1024

    /// 22 to 32 bytes, 27 on average.
    static func text(_ number: Int) -> String {
        let digits = String(number + 10_000_000)
        return "n\(digits)\(String(repeating: "x", count: number % 11)).shop.example"
    }

    static func host(_ number: Int) -> HTTPDNSName {
        guard let host = try? HTTPDNSName(text(number)) else { preconditionFailure("\(text(number)) is no name") }
        return host
    }

    let texts: [String]
    let hosts: [HTTPDNSName]
    private let first: Int
    private let step: Int

    init(_ choice: Choice, thread: Int) {
        texts = (0..<Names.count).map(Names.text)
        hosts = (0..<Names.count).map(Names.host)
        // An odd step goes round all places of a power of two.
        first = choice == .hot ? 0 : thread * 131
        step = choice == .hot ? 0 : 389
    }

    /// The place of the name for a call.
    @inline(__always)
    func place(of call: Int) -> Int { (first &+ call &* step) & (Names.count - 1) }
}
