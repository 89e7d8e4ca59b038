//! About pictures.

use super::Wording;
use crate::picture::{Damage, Problem, name};

const KINDS_JA: &str = "使えるのは PNG、JPEG、GIF、WebP、HEIC です。";
const EXPORT_JA: &str = "画像を PNG か JPEG で保存し直してください。";

/// Says why a picture could not be used.
pub(crate) fn problem(problem: &Problem) -> Wording {
    let (code, ja, hint_ja): (_, String, String) = match problem {
        Problem::Empty => (
            "PICTURE_EMPTY",
            format!("画像のファイルが空です。{KINDS_JA}"),
            "画像をもう一度保存するか、コピーし直してください。".into(),
        ),
        Problem::Unsupported { found } => (
            "PICTURE_FORMAT",
            format!("この画像の形式（{found}）は使えません。{KINDS_JA}"),
            EXPORT_JA.into(),
        ),
        Problem::NotAPicture { start } => (
            "PICTURE_FORMAT",
            format!("画像ではありません。中身が「{start}」で始まっています。{KINDS_JA}"),
            "画像を PNG か JPEG で保存し直し、このファイルと置き換えてください。名前を変えるだけでは画像になりません。".into(),
        ),
        Problem::TooManyPixels { width, height, limit } => (
            "PICTURE_PIXELS",
            format!("画像が大きすぎます（{width} x {height} 画素）。{limit} 画素まで使えます。"),
            format!(
                "画像を小さくしてください。そのまま使うなら --max-pixels {} を付けてください。",
                u64::from(*width).saturating_mul(u64::from(*height))
            ),
        ),
        Problem::TooLong { side, limit } => (
            "PICTURE_PIXELS",
            format!("画像の一辺が長すぎます（{side} 画素）。{limit} 画素まで使えます。"),
            "画像を切り抜くか、小さくしてください。".into(),
        ),
        Problem::TooMuchMemory { format, needed, limit } => (
            "PICTURE_MEMORY",
            format!(
                "この {} を開くには {} MB のメモリが要ります。{} MB まで使えます。",
                name(*format),
                needed / 1_000_000,
                limit / 1_000_000
            ),
            EXPORT_JA.into(),
        ),
        Problem::CutShort { format, .. } => (
            "PICTURE_CUT_SHORT",
            format!("{} の画像が途中で切れています。", name(*format)),
            "コピーが最後まで終わっていません。もう一度コピーしてください。".into(),
        ),
        Problem::Undecodable { format, reason } => (
            "PICTURE_DAMAGED",
            format!("{} の画像を開けません（{reason}）。", name(*format)),
            "画像ソフトで開いて、PNG か JPEG で保存し直してください。".into(),
        ),
        Problem::Unencodable { reason } => (
            "PICTURE_UNENCODABLE",
            format!("画像を変換できませんでした（{reason}）。"),
            "このプログラムの不具合です。画像を添えてお知らせください。".into(),
        ),
        Problem::OtherType { .. } | Problem::OtherSize { .. } => (
            "PICTURE_OTHER",
            format!("アーカイブの中の画像が、記録と合いません（{problem}）。"),
            "アーカイブを作り直してください。".into(),
        ),
    };
    Wording::new(code, (problem.to_string(), problem.hint()), (ja, hint_ja))
}

/// Says why a picture inside an archive is wrong: only a new archive helps.
pub(crate) fn in_archive(problem: &Problem) -> Wording {
    let wording = self::problem(problem);
    Wording::new(
        wording.code,
        (wording.en.message, "build the archive again"),
        (wording.ja.message, "アーカイブを作り直してください。"),
    )
}

pub(crate) fn damage(damage: &Damage) -> Wording {
    Wording::new(
        "PICTURE_DAMAGED",
        (damage.message(), damage.hint()),
        (
            "画像のデータが一部壊れています。読めたところまでを見せます。",
            "どう見えるかを確かめて、できればコピーし直すか、保存し直してください。",
        ),
    )
}
