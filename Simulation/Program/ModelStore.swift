// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore

/// A store of answers in memory: in time, slow, or out of order.
// @unchecked: the schedule lets one task of the process run at a time.
final class ModelStore: HTTPDNSResolutionStore, @unchecked Sendable {
    private var saved: [HTTPDNSStoredResolution] = []

    func load() async throws -> [HTTPDNSStoredResolution] {
        try await pass("load")
        currentStage.note("restored \(saved.count)")
        return saved
    }

    func save(_ resolutions: [HTTPDNSStoredResolution]) async throws {
        try await pass("save")
        saved = resolutions
    }

    private func pass(_ what: String) async throws {
        let stage = currentStage
        var draw = Draw(now: "store \(what)", in: stage.seed)
        let fate = draw.below(7)
        stage.cover("store \(what)\(fate == 0 ? " failed" : fate == 1 ? " slow" : "")")
        try await Task.sleep(
            for: fate == 1 ? draw.time(.milliseconds(500), .seconds(4)) : draw.time(.zero, .milliseconds(5))
        )
        if fate == 0 { throw HTTPDNSResolutionStoreError(code: .notReadable, path: "model", message: "a failure") }
    }
}
