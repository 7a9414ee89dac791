// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSPrimitives

/// The changes of URLs in a recording.
enum RecordedURL {
    /// Returns a URL without its user information, its fragment and some query items.
    /// - Parameter names: The names of the items, in lower case and without percent-encoding.
    static func text(_ url: String, without names: Set<String>) -> String {
        let whole = url.prefix { $0 != "#" }
        guard let mark = whole.firstIndex(of: "?") else { return URLText.withoutUserInformation(String(whole)) }
        let items = whole[whole.index(after: mark)...].split(separator: "&", omittingEmptySubsequences: false)
        let kept = items.filter { !names.contains(FormItems.items(of: String($0)).first?.name.lowercased() ?? "") }
        let start = URLText.withoutUserInformation(String(whole[..<mark]))
        // A query that was empty stays; one of which nothing is left goes.
        return kept.isEmpty ? start : "\(start)?\(kept.joined(separator: "&"))"
    }

    /// Returns the query items of a URL, without percent-encoding.
    static func items(of url: String) -> [HTTPArchive.Pair] {
        guard let mark = url.firstIndex(of: "?") else { return [] }
        return FormItems.items(of: String(url[url.index(after: mark)...])).map { HTTPArchive.Pair($0.name, $0.value) }
    }
}
