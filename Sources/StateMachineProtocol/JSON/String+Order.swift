import Glibc

extension String {
    /// Whether its bytes stand before the other's.
    ///
    /// `<` would normalize both first, which costs the square of the marks that stand in a row.
    package func precedesBytewise(_ other: String) -> Bool {
        var (left, right) = (self, other)
        return left.withUTF8 { left in
            right.withUTF8 { right in
                guard let one = left.baseAddress, let two = right.baseAddress else {
                    return left.isEmpty && !right.isEmpty
                }
                let order = memcmp(one, two, min(left.count, right.count))
                return order == 0 ? left.count < right.count : order < 0
            }
        }
    }
}
