"""Forty models of libraries that charz had not met, drawn before any of them was tried.

The environment that judges them has the packages of `PACKAGES` beside charz and its dependencies; each factory imports its
own. Sizes are small where the library leaves them to the user, the library's own where it does not.
"""

from __future__ import annotations

from typing import Any

PACKAGES = (
    "segmentation-models-pytorch monai speechbrain x-transformers vit-pytorch torchaudio torch_geometric kornia"
    " denoising-diffusion-pytorch diffusers efficientnet-pytorch pretrainedmodels perceiver-pytorch linformer"
    " performer-pytorch encodec spandrel open-clip-torch pytorch-tabnet rtdl_revisiting_models mlp-mixer-pytorch conformer"
)


def smp_unet() -> Any:
    import segmentation_models_pytorch as smp

    return smp.Unet("resnet18", encoder_weights=None)


def smp_deeplab() -> Any:
    import segmentation_models_pytorch as smp

    return smp.DeepLabV3Plus("resnet18", encoder_weights=None, classes=3)


def smp_psp() -> Any:
    import segmentation_models_pytorch as smp

    return smp.PSPNet("resnet18", encoder_weights=None, classes=3)


def monai_unet() -> Any:
    from monai.networks.nets import UNet

    return UNet(3, 1, 2, (8, 16, 32), (2, 2), num_res_units=2)


def monai_swin_unetr() -> Any:
    from monai.networks.nets import SwinUNETR

    return SwinUNETR(1, 2, feature_size=12)


def monai_segresnet() -> Any:
    from monai.networks.nets import SegResNet

    return SegResNet()


def monai_unetr() -> Any:
    from monai.networks.nets import UNETR

    return UNETR(1, 2, 64, hidden_size=96, mlp_dim=192, num_heads=4)


def speechbrain_ecapa() -> Any:
    from speechbrain.lobes.models.ECAPA_TDNN import ECAPA_TDNN

    return ECAPA_TDNN(80, channels=[64, 64, 64, 64, 192], attention_channels=32)


def speechbrain_xvector() -> Any:
    from speechbrain.lobes.models.Xvector import Xvector

    return Xvector(in_channels=40)


def speechbrain_crdnn() -> Any:
    from speechbrain.lobes.models.CRDNN import CRDNN

    return CRDNN(input_shape=[None, None, 40], rnn_layers=1, rnn_neurons=64, dnn_neurons=64)


def speechbrain_asr() -> Any:
    from speechbrain.lobes.models.transformer.TransformerASR import TransformerASR

    return TransformerASR(100, 80, 64, 4, 2, 2, 128)


def x_decoder() -> Any:
    from x_transformers import Decoder, TransformerWrapper

    return TransformerWrapper(num_tokens=256, max_seq_len=128, attn_layers=Decoder(dim=64, depth=2, heads=4))


def x_rotary_flash() -> Any:
    from x_transformers import Decoder, TransformerWrapper

    layers = Decoder(dim=64, depth=2, heads=4, attn_flash=True, rotary_pos_emb=True, ff_glu=True, attn_kv_heads=2)
    return TransformerWrapper(num_tokens=256, max_seq_len=128, attn_layers=layers)


def x_encoder() -> Any:
    from x_transformers import Encoder, TransformerWrapper

    layers = Encoder(dim=64, depth=2, heads=4, rel_pos_bias=True)
    return TransformerWrapper(num_tokens=256, max_seq_len=128, attn_layers=layers)


def vit_cct() -> Any:
    from vit_pytorch.cct import CCT

    return CCT(img_size=96, embedding_dim=64, num_layers=2, num_heads=4, num_classes=10, mlp_ratio=2.0)


def vit_max() -> Any:
    from vit_pytorch.max_vit import MaxViT

    return MaxViT(num_classes=10, dim=32, depth=(1, 1), dim_head=16)


def vit_region() -> Any:
    from vit_pytorch.regionvit import RegionViT

    return RegionViT(dim=(32, 64, 128, 256), depth=(1, 1, 1, 1), num_classes=10)


def vit_cross() -> Any:
    from vit_pytorch.cross_vit import CrossViT

    return CrossViT(image_size=96, num_classes=10, sm_dim=32, lg_dim=64, lg_patch_size=16, depth=1)


def vit_mobile() -> Any:
    from vit_pytorch.mobile_vit import MobileViT

    return MobileViT((128, 128), [32, 48, 64], [16, 16, 24, 24, 32, 32, 48, 48, 64, 64, 128], 10)


def audio_conformer() -> Any:
    from torchaudio.models import Conformer

    return Conformer(80, 4, 128, 2, 31)


def audio_conformer_arguments(flat: dict[str, Any]) -> dict[str, Any]:
    """Every sample as long as the longest."""
    return {**flat, "lengths": flat["lengths"] * 0 + flat["input"].shape[1]}


def audio_tasnet() -> Any:
    from torchaudio.models import ConvTasNet

    return ConvTasNet(enc_num_feats=64, msk_num_feats=32, msk_num_hidden_feats=64, msk_num_layers=3, msk_num_stacks=2)


def audio_wav2letter() -> Any:
    from torchaudio.models import Wav2Letter

    return Wav2Letter(input_type="mfcc", num_features=13)


def audio_deep_speech() -> Any:
    from torchaudio.models import DeepSpeech

    return DeepSpeech(26, 128)


def audio_demucs() -> Any:
    from torchaudio.models import HDemucs

    return HDemucs(["drums", "vocals"], channels=8)


def graph_convolution() -> Any:
    from torch_geometric.nn import GCN

    return GCN(16, 32, 2, 4)


def graph_attention() -> Any:
    from torch_geometric.nn import GAT

    return GAT(16, 32, 2, 4, heads=4)


def graph_sage() -> Any:
    from torch_geometric.nn import GraphSAGE

    return GraphSAGE(16, 32, 2, 4)


def kornia_hardnet() -> Any:
    from kornia.feature import HardNet

    return HardNet(pretrained=False)


def kornia_tiny_vit() -> Any:
    from kornia.contrib import TinyViT

    return TinyViT(img_size=224, embed_dims=[32, 64, 96, 128], depths=[1, 1, 1, 1], num_heads=[2, 2, 3, 4])


def diffusion_unet() -> Any:
    from denoising_diffusion_pytorch import Unet

    return Unet(16, dim_mults=(1, 2))


def diffusers_unet() -> Any:
    from diffusers import UNet2DConditionModel

    return UNet2DConditionModel(
        sample_size=16, block_out_channels=(32, 64), layers_per_block=1, cross_attention_dim=32, attention_head_dim=8,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"), up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
    )  # fmt: skip


def diffusers_autoencoder() -> Any:
    from diffusers import AutoencoderKL

    return AutoencoderKL(
        block_out_channels=(32, 64), norm_num_groups=8,
        down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2,
    )  # fmt: skip


def diffusers_sd3() -> Any:
    from diffusers import SD3Transformer2DModel

    return SD3Transformer2DModel(
        sample_size=16, in_channels=4, num_layers=2, attention_head_dim=16, num_attention_heads=4, joint_attention_dim=32,
        caption_projection_dim=64, pooled_projection_dim=32, out_channels=4,
    )  # fmt: skip


def efficient_net() -> Any:
    from efficientnet_pytorch import EfficientNet

    return EfficientNet.from_name("efficientnet-b0")


def pretrained_xception() -> Any:
    import pretrainedmodels

    return pretrainedmodels.xception(pretrained=None)


def pretrained_dpn() -> Any:
    import pretrainedmodels

    return pretrainedmodels.dpn68(pretrained=None)


def perceiver() -> Any:
    from perceiver_pytorch import Perceiver

    return Perceiver(
        num_freq_bands=4, depth=2, max_freq=10.0, num_latents=16, latent_dim=32, latent_heads=2, num_classes=10
    )


def linformer() -> Any:
    from linformer import LinformerLM

    return LinformerLM(256, 64, 128, 2, k=32, heads=4)


def performer() -> Any:
    from performer_pytorch import PerformerLM

    return PerformerLM(num_tokens=256, max_seq_len=128, dim=64, depth=2, heads=4, causal=False)


def encodec() -> Any:
    from encodec.modules import SEANetEncoder

    return SEANetEncoder(n_filters=8, dimension=32)


def spandrel_swin_ir() -> Any:
    from spandrel.architectures.SwinIR import SwinIR

    return SwinIR(img_size=32, embed_dim=24, depths=[2, 2], num_heads=[2, 2], window_size=8, upscale=2)


def spandrel_naf() -> Any:
    from spandrel.architectures.NAFNet import NAFNet

    return NAFNet(width=16, enc_blk_nums=[1, 1], dec_blk_nums=[1, 1])


def open_clip() -> Any:
    import open_clip as library

    return library.create_model("RN50", pretrained_text=False)


def tab_net() -> Any:
    from pytorch_tabnet.tab_network import TabNet

    return TabNet(32, 4, group_attention_matrix=_identity(32))


def _identity(size: int) -> Any:
    import torch

    return torch.eye(size, device="cpu")


def tabular_transformer() -> Any:
    from rtdl_revisiting_models import FTTransformer

    return FTTransformer(n_cont_features=8, cat_cardinalities=[4, 5], d_out=2, **FTTransformer.get_default_kwargs(1))


def tabular_transformer_arguments(flat: dict[str, Any]) -> dict[str, Any]:
    """Categories that there are."""
    return {**flat, "x_cat": flat["x_cat"] % 4}


def mlp_mixer() -> Any:
    from mlp_mixer_pytorch import MLPMixer

    return MLPMixer(image_size=96, channels=3, patch_size=16, dim=64, depth=2, num_classes=10)


def conformer() -> Any:
    from conformer import Conformer

    return Conformer(64, depth=2, dim_head=16, heads=4)
